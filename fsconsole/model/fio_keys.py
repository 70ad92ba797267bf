"""Keys of fio's job files: those that make load below a directory, and why others are refused.

From fio's table of options (options.c) of versions 2.16 to 3.42, with the options of the engines that are allowed.
"""

from __future__ import annotations


def _named(words: str) -> frozenset[str]:
    return frozenset(words.split())


ALONE = _named("""
    bs_unaligned norandommap time_based verify_only exitall stonewall new_group thread group_reporting zero_buffers
    refill_buffers exitall_on_error hipri userspace_reap
""")
"""Keys that may stand without a value (FIO_OPT_STR_SET)."""
OF_ENGINES = _named("""
    hipri hipri_percentage nowait uncached userspace_reap cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit thp
    cpuload cpuchunks cpumode exit_on_io_done stat_type
""")
"""Options of single engines, which fio knows once it has the engine."""
FIRST = frozenset({"lockfile", "cpus_allowed_policy", "kb_base", "unit_base"})
LATE = frozenset({"filename", "filename_format"})
"""fio sorts the keys of a section (.prio in options.c): others depend on the first, the late ones on others."""
ALLOWED = (
    _named("""
    name description filename directory filename_format unique_filename lockfile nrfiles openfiles file_service_type filesize
    file_append size io_size offset offset_increment offset_align overwrite fallocate fadvise_hint
    create_serialize create_fsync create_on_open create_only allow_file_create pre_read invalidate unlink
    unlink_each_loop
    rw bs ba bsrange bssplit bs_unaligned bs_is_seq_rand number_ios ioengine iodepth iodepth_batch
    iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low io_submit_mode serialize_overlap direct buffered
    atomic sync fsync fdatasync write_barrier sync_file_range end_fsync fsync_on_close write_hint rw_sequencer rwmixread
    rwmixwrite mem iomem_align hugepage-size
    randrepeat randseed allrandrepeat norandommap softrandommap random_generator random_distribution
    percentage_random zonemode zonesize zonerange zoneskip
    loops numjobs thread startdelay runtime time_based ramp_time ramp_size stonewall wait_for new_group exitall
    exit_what exitall_on_error thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime rate
    rate_min rate_process rate_cycle rate_iops rate_iops_min rate_ignore_thinktime max_latency latency_target
    latency_window latency_percentile latency_run flow_id flow flow_sleep steadystate steadystate_duration
    steadystate_ramp_time nice prio prioclass cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy
    zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk
    dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global verify verify_only do_verify
    verify_interval verify_offset verify_pattern verify_pattern_interval verify_write_sequence verify_header_seed
    verify_fatal verify_async verify_backlog verify_backlog_batch experimental_verify continue_on_error ignore_error
    group_reporting clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures clocksource
    gtod_reduce gtod_cpu disable_lat disable_clat disable_slat disable_bw_measurement disk_util bwavgtime iopsavgtime
    kb_base unit_base
""")
    | OF_ENGINES
)
ALIASES = {
    "readwrite": "rw", "iodepth_batch_submit": "iodepth_batch", "iodepth_batch_complete": "iodepth_batch_complete_min",
    "io_limit": "io_size", "fileoffset": "offset", "blocksize": "bs", "blockalign": "ba",
    "blocksize_range": "bsrange", "blocksize_unaligned": "bs_unaligned", "nr_files": "nrfiles", "timeout": "runtime",
    "iomem": "mem", "mem_align": "iomem_align", "ratemin": "rate_min", "ratecycle": "rate_cycle",
    "wait_for_previous": "stonewall", "disable_bw": "disable_bw_measurement", "ss": "steadystate",
    "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time",
}  # fmt: skip
INCLUDE = "Write its lines into the job file itself."
_BY_FIO = "The figures come from fio's JSON output; the whole output is kept with the run."
_BY_PLAN = "Use a [settings] table of the plan, which restores the old value."
_LOGS = "it writes a log file"
_REPLAY = "it replays a recorded log, whose file names are not checked"
_COMMAND = "it runs a command through a shell"
_ACCOUNT = "the cage gives no right to change it"
DEVICE = "it is for devices, and a job works on files"
REFUSED: dict[str, tuple[str, str]] = {
    "opendir": ("it takes whatever files lie in a directory", "Name the files with filename, or leave the names to fio."),
    **dict.fromkeys(("fill_device", "fill_fs"),
                    ("it writes until the filesystem is full, and a plan counts beforehand what is written",
                     "Write the size itself, such as size=8g.")),
    **dict.fromkeys(("exec_prerun", "exec_postrun"), (_COMMAND, 'Put it into a workload of its own, kind = "command".')),
    **dict.fromkeys(
        ("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec", "log_entries",
         "log_hist_coarseness", "log_max_value", "log_window_value", "log_offset", "log_prio", "log_compression",
         "log_compression_cpus", "log_store_compressed", "log_unix_epoch", "log_alternate_epoch", "log_issue_time",
         "log_alternate_epoch_clock_id", "per_job_logs", "block_error_percentiles"), (_LOGS, _BY_FIO)),
    "write_iolog": (_LOGS, _BY_FIO),
    **dict.fromkeys(
        ("read_iolog", "read_iolog_chunked", "replay_no_stall", "replay_redirect", "replay_scale", "replay_align",
         "replay_time_scale", "replay_skip", "merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"),
        (_REPLAY, "Describe the load with rw, bs and size.")),
    **dict.fromkeys(("verify_state_load", "verify_state_save", "verify_dump", "error_dump"),
                    ("it reads or writes a state file", "Leave it out.")),
    **dict.fromkeys(("cgroup", "cgroup_nodelete", "cgroup_weight"), ("it writes to the machine's cgroups", "Leave it out.")),
    **dict.fromkeys(("uid", "gid", "lockmem"), (_ACCOUNT, "Leave it out.")),
    "ioscheduler": ("it changes a setting of the device", _BY_PLAN),
    "profile": ("it is a job file of its own, inside fio", "Write out the keys that it stands for."),
    **dict.fromkeys(
        ("allow_mounted_write", "trim_percentage", "trim_verify_zero", "trim_backlog", "trim_backlog_batch", "zonecapacity",
         "read_beyond_wp", "max_open_zones", "job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold",
         "zone_reset_frequency", "write_zone_remainder", "recover_zbd_write_error", "fdp", "fdp_pli", "fdp_pli_select",
         "dataplacement", "plids", "plid_select", "dp_scheme"), (DEVICE, "Leave it out.")),
    "unified_rw_reporting": ("reads and writes have columns of their own", "Leave it out."),
    "stats": ("a job without figures can't be shown", "Leave it out."),
}  # fmt: skip
ENGINES = (
    "psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "mmap", "splice", "falloc", "ftruncate",
    "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "cpuio", "null",
)  # fmt: skip
NO_URING = "the cage forbids io_uring, which makes sockets past its filter"
DIRECTIONS = ("read", "write", "rw", "readwrite", "randread", "randwrite", "randrw")
MEMORY = ("malloc", "shm", "shmhuge", "mmap", "mmapshared")
ZONES = ("none", "strided")
