"""The mixed plan on the stable release's kernel."""

from tests.lab.mixed import (  # noqa: F401
    mixed,
    test_a_load_over_threads_becomes_a_curve_that_another_kernel_s_can_be_laid_beside,
    test_a_mixed_load_is_done_on_each_filesystem_in_the_order_of_the_seed,
    test_each_filesystem_was_given_the_same_to_do,
    test_its_grid_has_the_rows_that_every_kernel_gave,
    test_the_array_is_read_alike_with_its_stripes,
    test_the_gauges_show_array_and_members_and_count_nothing_twice,
)
