// Simulates a power failure: keeps, for each file of a folder, a copy that holds only what was synced.
// LD_PRELOAD this, with FORGETFUL_FROM naming the folder and FORGETFUL_TO the folder of the copies. Writes are kept in memory
// and reach the copy at fsync or fdatasync; kill -9 loses the rest.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct change {
    struct change *next;
    off_t at; // of a write, or the new length
    size_t size;
    int truncates;
    char data[];
};

static struct change *first[4096], *last[4096];
static char *copies[4096];
static char *removed[64]; // copies whose files were removed since the folder was synced
static int removals;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void watch(int fd, const char *path) {
    const char *from = getenv("FORGETFUL_FROM"), *to = getenv("FORGETFUL_TO");
    char whole[4096];
    if (fd < 0 || fd >= 4096 || !from || !to || !realpath(path, whole) || strncmp(whole, from, strlen(from))) return;
    if (strstr(whole, "-shm") || strstr(whole, ".lock")) return;
    pthread_mutex_lock(&lock);
    free(copies[fd]);
    if (asprintf(&copies[fd], "%s%s", to, whole + strlen(from)) < 0) abort();
    pthread_mutex_unlock(&lock);
}

static void note(int fd, const void *data, size_t size, off_t at, int truncates) {
    if (fd < 0 || fd >= 4096 || !copies[fd]) return;
    struct change *made = malloc(sizeof *made + size);
    *made = (struct change){NULL, at, size, truncates};
    if (size) memcpy(made->data, data, size);
    pthread_mutex_lock(&lock);
    if (last[fd]) last[fd]->next = made; else first[fd] = made;
    last[fd] = made;
    pthread_mutex_unlock(&lock);
}

static void settle(int fd) {
    if (fd < 0 || fd >= 4096 || !copies[fd]) return;
    pthread_mutex_lock(&lock);
    if (!strcmp(copies[fd], getenv("FORGETFUL_TO"))) { // the folder itself
        while (removals) {
            REAL(unlink)(removed[--removals]);
            free(removed[removals]);
        }
        pthread_mutex_unlock(&lock);
        return;
    }
    int copy = REAL(open64)(copies[fd], O_CREAT | O_RDWR, 0600);
    while (first[fd]) {
        struct change *done = first[fd];
        if (done->truncates ? REAL(ftruncate64)(copy, done->at) < 0
                            : REAL(pwrite64)(copy, done->data, done->size, done->at) != (ssize_t)done->size) abort();
        first[fd] = done->next;
        free(done);
    }
    last[fd] = NULL;
    close(copy);
    pthread_mutex_unlock(&lock);
}

int unlink(const char *path) {
    const char *from = getenv("FORGETFUL_FROM"), *to = getenv("FORGETFUL_TO");
    char whole[4096];
    if (from && to && realpath(path, whole) && !strncmp(whole, from, strlen(from))) {
        pthread_mutex_lock(&lock);
        if (removals == 64 || asprintf(&removed[removals++], "%s%s", to, whole + strlen(from)) < 0) abort();
        pthread_mutex_unlock(&lock);
    }
    return REAL(unlink)(path);
}
int open64(const char *path, int flags, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, flags);
    int mode = __builtin_va_arg(more, int), fd = REAL(open64)(path, flags, mode);
    __builtin_va_end(more);
    watch(fd, path);
    return fd;
}
int open(const char *path, int flags, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, flags);
    int mode = __builtin_va_arg(more, int), fd = REAL(open)(path, flags, mode);
    __builtin_va_end(more);
    watch(fd, path);
    return fd;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    ssize_t done = REAL(pwrite64)(fd, data, size, at);
    if (done > 0) note(fd, data, done, at, 0);
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size) {
    off_t at = fd >= 0 && fd < 4096 && copies[fd] ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = REAL(write)(fd, data, size);
    if (done > 0) note(fd, data, done, at, 0);
    return done;
}
int ftruncate64(int fd, off_t size) {
    int failed = REAL(ftruncate64)(fd, size);
    if (!failed) note(fd, NULL, 0, size, 1);
    return failed;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int fsync(int fd) {
    settle(fd);
    return REAL(fsync)(fd);
}
int fdatasync(int fd) {
    settle(fd);
    return REAL(fdatasync)(fd);
}
