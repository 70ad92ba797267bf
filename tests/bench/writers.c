/* N threads write a file each, in blocks from a pool of random data at rotating offsets: the least that such a load
 * costs. usage: writers DIRECTORY THREADS BYTES_PER_FILE BLOCK
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { POOL = 16 << 20, STRIDE = 10368889 };

static const char *directory;
static long long file_bytes;
static size_t block;
static char *pool;
static pthread_barrier_t ready;

static void *write_file(void *argument)
{
    long thread = (long)argument;
    uint32_t place = thread * 7368787u % POOL;
    char name[4096];
    snprintf(name, sizeof name, "%s/c%06ld", directory, thread);
    pthread_barrier_wait(&ready);
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0)
        abort();
    for (long long left = file_bytes; left > 0; left -= block) {
        if (write(fd, pool + place, block) != (ssize_t)block)
            abort();
        place = (place + STRIDE) % POOL;
    }
    close(fd);
    return NULL;
}

int main(int count, char **words)
{
    if (count != 5)
        return 2;
    directory = words[1];
    long threads = atol(words[2]);
    file_bytes = atoll(words[3]);
    block = atol(words[4]);
    pool = malloc(POOL + block);
    pthread_t *ids = calloc(threads, sizeof *ids);
    for (size_t filled = 0; filled < POOL + block; filled += 256)
        if (getrandom(pool + filled, 256, 0) != 256)
            abort();
    pthread_barrier_init(&ready, NULL, threads);
    for (long thread = 0; thread < threads; thread++)
        if (pthread_create(&ids[thread], NULL, write_file, (void *)thread))
            abort();
    for (long thread = 0; thread < threads; thread++)
        pthread_join(ids[thread], NULL);
    return 0;
}
