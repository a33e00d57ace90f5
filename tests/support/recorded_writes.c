/* Records what a program writes to the files of one folder, and when it waits for the disk: LD_PRELOAD.
 *
 * Each record in $RECORD_TO is a line: an op, the file's name, two numbers, and the written bytes after it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The file's name below $RECORD_FOLDER; 0 where it is of another folder. */
static const char *name_of(int fd, char *path) {
    char link[64];
    const char *folder = getenv("RECORD_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0 || folder == 0) return 0;
    path[length] = 0;
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size + 1 : 0;
}

static void record_name(char op, const char *name, long long at, long long count, const void *data) {
    static ssize_t (*plain)(int, const void *, size_t);
    static int to = -1;
    char head[4200];
    if (name == 0) return;
    pthread_mutex_lock(&lock);
    if (plain == 0) {
        plain = dlsym(RTLD_NEXT, "write");
        to = open(getenv("RECORD_TO"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    int length = snprintf(head, sizeof head, "%c %s %lld %lld\n", op, name, at, count);
    if (plain(to, head, length) != length || (data && plain(to, data, count) != count)) abort();
    pthread_mutex_unlock(&lock);
}

static void record(char op, int fd, long long at, long long count, const void *data) {
    char path[4096];
    record_name(op, name_of(fd, path), at, count, data);
}

int unlink(const char *path) {
    static int (*next)(const char *);
    if (next == 0) next = dlsym(RTLD_NEXT, "unlink");
    int done = next(path);
    const char *folder = getenv("RECORD_FOLDER");
    size_t size = folder ? strlen(folder) : 0;
    if (done == 0 && size && strncmp(path, folder, size) == 0) record_name('u', path + size + 1, 0, 0, 0);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (next == 0) next = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t done = next(fd, data, count, at);
    if (done > 0) record('w', fd, at, done, data);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) { return pwrite64(fd, data, count, at); }

ssize_t write(int fd, const void *data, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (next == 0) next = dlsym(RTLD_NEXT, "write");
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = next(fd, data, count);
    if (done > 0) record('w', fd, at, done, data);
    return done;
}

int ftruncate64(int fd, off64_t size) {
    static int (*next)(int, off64_t);
    if (next == 0) next = dlsym(RTLD_NEXT, "ftruncate64");
    int done = next(fd, size);
    if (done == 0) record('t', fd, size, 0, 0);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int fdatasync(int fd) {
    static int (*next)(int);
    if (next == 0) next = dlsym(RTLD_NEXT, "fdatasync");
    int done = next(fd);
    if (done == 0) record('s', fd, 0, 0, 0);
    return done;
}

int fsync(int fd) {
    static int (*next)(int);
    if (next == 0) next = dlsym(RTLD_NEXT, "fsync");
    int done = next(fd);
    if (done == 0) record('s', fd, 0, 0, 0);
    return done;
}
