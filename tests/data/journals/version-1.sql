-- A journal of schema version 1: the first steps of a real run; its second sample was written by hand.
PRAGMA application_id = 1718839857;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE cell_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL);
CREATE TABLE command_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        argv TEXT NOT NULL,
        exit_code INTEGER NOT NULL,
        elapsed_s REAL NOT NULL,
        user_s REAL NOT NULL,
        system_s REAL NOT NULL,
        max_rss_bytes INTEGER NOT NULL,
        output TEXT NOT NULL,
        kernel_log TEXT NOT NULL);
INSERT INTO "command_finished" VALUES(9,'["mkfs.ext4","-F","-U","8226d898-547a-5dde-966b-6e8e4f1c68ec","-E","lazy_itable_init=0,lazy_journal_init=0,nodiscard","/dev/loop4"]',0,0.015741238,0.003675,0.0,2883584,'raw/000-01-mkfs.ext4','[]');
CREATE TABLE control_requested (
        event INTEGER PRIMARY KEY REFERENCES event,
        verb TEXT NOT NULL);
CREATE TABLE event (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        wall_ns INTEGER NOT NULL,
        monotonic_ns INTEGER NOT NULL,
        attempt INTEGER,
        cell INTEGER,
        step INTEGER);
INSERT INTO "event" VALUES(1,'run_started',1795262822181019516,1818301315821,1,NULL,NULL);
INSERT INTO "event" VALUES(2,'target_accepted',1795262822492084746,1818612379899,NULL,NULL,NULL);
INSERT INTO "event" VALUES(3,'warning_raised',1795262822618402771,1818738697374,1,NULL,NULL);
INSERT INTO "event" VALUES(4,'cell_started',1795262822627900826,1818748195418,1,0,NULL);
INSERT INTO "event" VALUES(5,'warning_raised',1795262822640065597,1818760360400,1,0,NULL);
INSERT INTO "event" VALUES(6,'step_started',1795262822640174679,1818760467709,1,0,0);
INSERT INTO "event" VALUES(7,'step_finished',1795262822757482234,1818877776215,1,0,0);
INSERT INTO "event" VALUES(8,'step_started',1795262822763109905,1818883403486,1,0,1);
INSERT INTO "event" VALUES(9,'command_finished',1795262822870353185,1818990646415,1,0,1);
INSERT INTO "event" VALUES(10,'step_finished',1795262822875696985,1818995990405,1,0,1);
CREATE TABLE feature_seen (
        event INTEGER PRIMARY KEY REFERENCES event,
        scope TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL);
CREATE TABLE measurement (
        event INTEGER NOT NULL REFERENCES event,
        position INTEGER NOT NULL,
        metric TEXT NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (event, position)) WITHOUT ROWID;
INSERT INTO "measurement" VALUES(10,0,'mkfs',0.015741238);
INSERT INTO "measurement" VALUES(10,1,'mkfs_user',0.003675);
INSERT INTO "measurement" VALUES(10,2,'mkfs_system',0.0);
CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        run_id TEXT NOT NULL,
        created_wall_ns INTEGER NOT NULL,
        version TEXT NOT NULL,
        request TEXT NOT NULL);
INSERT INTO "run" VALUES(1,'20261121-120700-r2ix',1795262820946115370,'0.1.0','{"run_id":"20261121-120700-r2ix","created_wall_ns":1795262820946115370,"version":"0.1.0","plan":{"title":"one small cell","source":"schema = 1\ntitle = \"one small cell\"\nequalise = \"none\"\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nname = \"files\"\nkind = \"create\"\nthreads = 200\nfile_size = \"4MiB\"\nblock_size = \"64KiB\"\n","seed":1,"order":"shuffled","repeats":1,"targets":["/dev/loop4"],"cells":[{"index":0,"target":"/dev/loop4","array":null,"setting":{"values":[]},"variant":{"label":"ext4","filesystem":"ext4","mkfs_words":["-E","lazy_itable_init=0,lazy_journal_init=0,nodiscard"],"mount_words":[],"tune_words":[],"as_printed":""},"repeat":1,"workloads":[{"name":"files","kind":"create","threads":200,"files":200,"file_size_bytes":4194304,"block_size_bytes":65536,"directories":{"layout":"one","files_per_directory":0},"data":"random","cold":false}],"after":{"check":true,"crash":false,"delete":"rm"},"equalise":"none","uuid":"8226d898-547a-5dde-966b-6e8e4f1c68ec","steps":[{"kind":"gate","title":"prove that /dev/loop4 is what was agreed upon","commands":[],"changes":"","undo":"","workload":null},{"kind":"mkfs","title":"make ext4 on /dev/loop4","commands":[["mkfs.ext4","-F","-U","8226d898-547a-5dde-966b-6e8e4f1c68ec","-E","lazy_itable_init=0,lazy_journal_init=0,nodiscard","/dev/loop4"]],"changes":"formats /dev/loop4","undo":"","workload":null},{"kind":"features","title":"read back what mkfs made","commands":[["dumpe2fs","-h","/dev/loop4"]],"changes":"","undo":"","workload":null},{"kind":"mount","title":"mount /dev/loop4","commands":[["mount","-t","ext4","-o","nosuid,nodev","/dev/loop4","/run/fsconsole/mnt"]],"changes":"mounts /dev/loop4","undo":"umount /run/fsconsole/mnt","workload":null},{"kind":"quiesce","title":"wait until Dirty and Writeback are near zero","commands":[],"changes":"","undo":"","workload":0},{"kind":"workload","title":"files: create 200 files of 4MiB by 200 threads in writes of 64KiB, random data","commands":[],"changes":"writes below /run/fsconsole/mnt/tree","undo":"","workload":0},{"kind":"drain","title":"syncfs, then fsync of the device: one flush","commands":[],"changes":"","undo":"","workload":0},{"kind":"remount","title":"unmount and mount, which trims preallocation","commands":[["umount","/run/fsconsole/mnt"],["mount","-t","ext4","-o","nosuid,nodev","/dev/loop4","/run/fsconsole/mnt"]],"changes":"","undo":"","workload":null},{"kind":"extents","title":"count the extents of every file","commands":[],"changes":"","undo":"","workload":null},{"kind":"unmount","title":"unmount /dev/loop4","commands":[["umount","/run/fsconsole/mnt"]],"changes":"","undo":"","workload":null},{"kind":"check","title":"check ext4 in full","commands":[["e2fsck","-f","-y","/dev/loop4"]],"changes":"","undo":"","workload":null},{"kind":"cold-mount","title":"drop all caches, then mount","commands":[["mount","-t","ext4","-o","nosuid,nodev","/dev/loop4","/run/fsconsole/mnt"]],"changes":"mounts /dev/loop4","undo":"umount /run/fsconsole/mnt","workload":null},{"kind":"delete","title":"remove /run/fsconsole/mnt/tree","commands":[["rm","-rf","--","/run/fsconsole/mnt/tree"]],"changes":"removes /run/fsconsole/mnt/tree","undo":"","workload":null},{"kind":"delete-unmount","title":"unmount /dev/loop4","commands":[["umount","/run/fsconsole/mnt"]],"changes":"","undo":"","workload":null},{"kind":"release","title":"give back everything that was taken","commands":[],"changes":"","undo":"","workload":null}],"unavailable":""}],"estimate":{"bytes_to_write":873220538,"elapsed_s":8.821470253333334,"assumed_bytes_per_s":150000000.0},"notes":[]},"targets":[{"path":"/dev/loop4","identity":{"name":"loop4","boot_id":"92d955a4-8208-46a3-9375-1c58352b3410","device_number":1796,"size_bytes":2147483648,"diskseq":1149,"wwn":"","serial":"","partition_start_bytes":0,"partition_uuid":"","dm_uuid":"","dm_table":"","backing_device":65024,"backing_inode":10092608,"scratch_id":"d36be94f"},"shown":[{"check":"hidden-process","verdict":"asked","device":"/dev/loop4","reason":"may be open in process 1 (process_api), which does not show what it has open","hint":"`ps` tells what the process is.","waits":false}],"content_digest":"8a39d2abd3999ab73c34db2476849cddf303ce389b35826850f9a700589b4a90","consent":""}],"owned_scratch":""}');
CREATE TABLE run_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT NOT NULL,
        exit_code INTEGER NOT NULL);
CREATE TABLE run_interrupted (
        event INTEGER PRIMARY KEY REFERENCES event,
        reason TEXT NOT NULL);
CREATE TABLE run_started (
        event INTEGER PRIMARY KEY REFERENCES event,
        version TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kernel TEXT NOT NULL,
        hostname TEXT NOT NULL,
        facts TEXT NOT NULL);
INSERT INTO "run_started" VALUES(1,'0.1.0','92d955a4-8208-46a3-9375-1c58352b3410','6.18.44-fc-v669','vm','[["cpus","2"],["memory_bytes","25276502016"]]');
CREATE TABLE sample (
        id INTEGER PRIMARY KEY,
        monotonic_ns INTEGER NOT NULL,
        wall_ns INTEGER NOT NULL,
        interval_s REAL NOT NULL,
        cell INTEGER,
        step TEXT NOT NULL,
        cpu_user REAL NOT NULL,
        cpu_nice REAL NOT NULL,
        cpu_system REAL NOT NULL,
        cpu_iowait REAL NOT NULL,
        cpu_irq REAL NOT NULL,
        cpu_softirq REAL NOT NULL,
        cpu_idle REAL NOT NULL,
        writeback_dirty_bytes INTEGER NOT NULL,
        writeback_writeback_bytes INTEGER NOT NULL,
        writeback_threshold_bytes INTEGER,
        writeback_background_threshold_bytes INTEGER,
        bdi_writeback_bytes INTEGER,
        bdi_reclaimable_bytes INTEGER,
        bdi_dirty_thresh_bytes INTEGER,
        bdi_dirtied_bytes INTEGER,
        bdi_written_bytes INTEGER,
        bdi_bandwidth_bytes_s INTEGER,
        bdi_b_dirty INTEGER,
        bdi_b_io INTEGER,
        bdi_b_more_io INTEGER,
        pressure_io_some_percent REAL,
        pressure_io_full_percent REAL,
        load_bytes_done INTEGER,
        load_operations INTEGER,
        load_files_done INTEGER,
        load_threads_running INTEGER,
        load_bytes_s REAL);
INSERT INTO "sample" VALUES(1,1819239162478,1795262823118871530,0.500144138,0,'workload',5.30612244897959186564e+01,1.4285714285714286476e+01,3.16326530612244916085e+01,0.0,0.0,1.0204081632653061451e+00,0.0,45056,0,4553699328,2274066432,0,65536,569204736,38842368,34742272,4403200,1,0,0,7.66,0.15,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "sample" VALUES(2,14000500000000,1795262821000000000,0.50012345,0,'workload',12.3456,0.0,33.3333,20.0,0.0,1.25,33.0711,1843200000,131072000,5013700608,2503868416,4096,1593344,4999626752,2285514752,1656688640,1966080,170,0,3,NULL,NULL,1073741824,16384,3,13,812400123.5);
CREATE TABLE sample_cpu (
        sample INTEGER NOT NULL REFERENCES sample,
        position INTEGER NOT NULL,
        busy REAL NOT NULL,
        PRIMARY KEY (sample, position)) WITHOUT ROWID;
INSERT INTO "sample_cpu" VALUES(1,0,1.00000000000000014213e+02);
INSERT INTO "sample_cpu" VALUES(1,1,100.0);
INSERT INTO "sample_cpu" VALUES(2,0,20.5);
CREATE TABLE sample_device (
        sample INTEGER NOT NULL REFERENCES sample,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        read_bytes_s REAL NOT NULL,
        write_bytes_s REAL NOT NULL,
        read_iops REAL NOT NULL,
        write_iops REAL NOT NULL,
        in_flight INTEGER NOT NULL,
        utilisation_percent REAL NOT NULL,
        latency_ms REAL,
        PRIMARY KEY (sample, position)) WITHOUT ROWID;
INSERT INTO "sample_device" VALUES(1,0,'loop4',5.46401766388550307615e+06,2.03812567458143532265e+08,4.83814555816013921671e+02,9.79624513842342139503e+01,0,9.59632176825151539389e+00,0.436426116838488);
INSERT INTO "sample_device" VALUES(2,0,'loop4',0.0,410200064.0,0.0,801.5,12,98.25,14.0625);
CREATE TABLE step_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        elapsed_s REAL NOT NULL,
        reason TEXT NOT NULL,
        verdict TEXT NOT NULL);
INSERT INTO "step_finished" VALUES(7,'done',1.1656024599983538792e-01,'','passed');
INSERT INTO "step_finished" VALUES(10,'done',1.07821186999899509828e-01,'','');
CREATE TABLE step_started (
        event INTEGER PRIMARY KEY REFERENCES event,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        commands TEXT NOT NULL);
INSERT INTO "step_started" VALUES(6,'gate','prove that /dev/loop4 is what was agreed upon','[]');
INSERT INTO "step_started" VALUES(8,'mkfs','make ext4 on /dev/loop4','[["mkfs.ext4","-F","-U","8226d898-547a-5dde-966b-6e8e4f1c68ec","-E","lazy_itable_init=0,lazy_journal_init=0,nodiscard","/dev/loop4"]]');
CREATE TABLE target_accepted (
        event INTEGER PRIMARY KEY REFERENCES event,
        path TEXT NOT NULL,
        identity TEXT NOT NULL,
        hazards TEXT NOT NULL,
        consent TEXT NOT NULL);
INSERT INTO "target_accepted" VALUES(2,'/dev/loop4','{"name":"loop4","boot_id":"92d955a4-8208-46a3-9375-1c58352b3410","device_number":1796,"size_bytes":2147483648,"diskseq":1149,"wwn":"","serial":"","partition_start_bytes":0,"partition_uuid":"","dm_uuid":"","dm_table":"","backing_device":65024,"backing_inode":10092608,"scratch_id":"d36be94f"}','[{"check":"hidden-process","verdict":"asked","device":"/dev/loop4","reason":"may be open in process 1 (process_api), which does not show what it has open","hint":"`ps` tells what the process is.","waits":false}]','');
CREATE TABLE warning_raised (
        event INTEGER PRIMARY KEY REFERENCES event,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT NOT NULL);
INSERT INTO "warning_raised" VALUES(3,'journal-shared-disk','runs are kept on the filesystem that holds the file below /dev/loop4','Keep runs elsewhere (--runs) or the scratch file (--dir): the journal''s writes are in its figures.');
INSERT INTO "warning_raised" VALUES(5,'not-comparable','the target is a loop device: its figures are those of the file below it','Compare variants within this run only; for figures of a disk, run the plan on the disk.');
COMMIT;
