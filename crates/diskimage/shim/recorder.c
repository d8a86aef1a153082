/* Records what a process does to the files of one directory: names, data, syncs, in one order.
 *
 * Preloaded (LD_PRELOAD). Environment:
 *   RECORDER_DIR  the directory, absolute and without symbolic links
 *   RECORDER_LOG  the recording; a later process goes on where an earlier one stopped
 *
 * The recording starts with a page that other processes may map or read at any time (struct header below): the
 * number of operations so far, and which write or sync is to fail. After it, one entry an operation (struct entry,
 * then the name, then the data). Calls that are made without libc (raw system calls) are not seen; a directory's
 * sync therefore carries the directory's listing, and opening a file its inode, from which renames are inferred.
 *
 * A write is made and logged under one lock; a sync is logged when it begins and when it has ended, so that only what
 * was written before its beginning counts as covered.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER_BYTES 4096
#define FDS 65536

enum {
    OP_ROOT = 1,    /* inode = the directory; name = its path */
    OP_CREATE,      /* inode; name */
    OP_OPEN,        /* inode; name: a file that was there */
    OP_WRITE,       /* inode; a = offset; data */
    OP_TRUNCATE,    /* inode; a = length */
    OP_ALLOCATE,    /* inode; a = offset, b = length (extends) */
    OP_SYNC_BEGIN,  /* inode */
    OP_SYNC_END,    /* inode; a = sequence of the beginning, b = 0 or errno */
    OP_RENAME,      /* name = old; data = new */
    OP_UNLINK,      /* name */
    OP_MKDIR,       /* inode; name */
    OP_RMDIR,       /* name */
    OP_LISTING,     /* inode = a directory; data = u64 inode, u16 length, name, ... */
    OP_UNSUPPORTED, /* name = the call */
    OP_LINK,        /* name = old; data = new */
};

struct header {
    char magic[8];
    volatile uint64_t sequence;   /* operations logged so far, the last one's number */
    volatile uint64_t end;        /* bytes of entries behind the header */
    volatile uint64_t writes;     /* writes attempted so far */
    volatile uint64_t syncs;      /* syncs attempted so far */
    volatile uint64_t fail_write; /* this write and all after it fail; 0 never */
    volatile uint64_t fail_sync;  /* likewise */
    volatile uint64_t error;      /* with this errno */
    volatile uint64_t once;       /* not 0: only that one fails */
};

struct entry {
    uint32_t length; /* of all, padding included */
    uint32_t op;
    uint64_t sequence;
    uint64_t inode;
    int64_t a, b;
    uint32_t name_length;
    uint32_t data_length;
};

static struct header *header;
static int log_fd = -1;
static char dir[PATH_MAX];
static size_t dir_length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char watched[FDS]; /* 0 no, 1 file, 2 directory */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void stop(const char *why) {
    dprintf(2, "recorder: %s (%s)\n", why, strerror(errno));
    _exit(99);
}

static void append(const void *bytes, size_t length, uint64_t at) {
    const char *p = bytes;
    while (length > 0) {
        long n = syscall(SYS_pwrite64, log_fd, p, length, at);
        if (n <= 0) stop("cannot write the recording");
        p += n, at += n, length -= n;
    }
}

/* Logs an operation; the lock is held. */
static uint64_t record(int op, uint64_t inode, int64_t a, int64_t b, const char *name, const void *data, size_t length) {
    size_t name_length = name ? strlen(name) : 0;
    size_t all = (sizeof(struct entry) + name_length + length + 7) & ~(size_t)7;
    struct entry e = {(uint32_t)all, op, header->sequence + 1, inode, a, b, (uint32_t)name_length, (uint32_t)length};
    uint64_t at = HEADER_BYTES + header->end;
    append(&e, sizeof e, at);
    if (name_length) append(name, name_length, at + sizeof e);
    if (length) append(data, length, at + sizeof e + name_length);
    size_t used = sizeof e + name_length + length;
    if (all > used) append("\0\0\0\0\0\0\0", all - used, at + used);
    header->end += all;
    __sync_synchronize();
    header->sequence += 1;
    return e.sequence;
}

static uint64_t inode_of(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 ? s.st_ino : 0;
}

static void start(void) {
    const char *directory = getenv("RECORDER_DIR"), *path = getenv("RECORDER_LOG");
    if (!directory || !path) return;
    if (strlen(directory) >= sizeof dir) stop("RECORDER_DIR is too long");
    strcpy(dir, directory);
    dir_length = strlen(dir);
    while (dir_length > 1 && dir[dir_length - 1] == '/') dir[--dir_length] = 0;
    log_fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (log_fd < 0) stop("cannot open RECORDER_LOG");
    /* Out of the way of the process's own descriptors. */
    int high = syscall(SYS_fcntl, log_fd, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) {
        syscall(SYS_close, log_fd);
        log_fd = high;
    }
    struct stat s;
    if (fstat(log_fd, &s) != 0) stop("cannot stat RECORDER_LOG");
    if (s.st_size < HEADER_BYTES && syscall(SYS_ftruncate, log_fd, HEADER_BYTES) != 0) stop("cannot extend RECORDER_LOG");
    header = mmap(NULL, HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, log_fd, 0);
    if (header == MAP_FAILED) stop("cannot map RECORDER_LOG");
    memcpy(header->magic, "RECORDER", 8);
    syscall(SYS_mkdirat, AT_FDCWD, dir, 0755);
    if (stat(dir, &s) == 0) record(OP_ROOT, s.st_ino, 0, 0, dir, NULL, 0);
}

static int on(void) {
    pthread_once(&once, start);
    return header != NULL;
}

/* The absolute path of a name, in `out`; true if it is watched. */
static int resolve(int at, const char *name, char *out) {
    if (!on() || !name) return 0;
    if (name[0] == '/') {
        if (strlen(name) >= PATH_MAX) return 0;
        strcpy(out, name);
    } else {
        char base[PATH_MAX];
        ssize_t n;
        if (at == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
            n = strlen(base);
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            n = readlink(link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
        if (n + strlen(name) + 2 >= PATH_MAX) return 0;
        snprintf(out, PATH_MAX, "%s/%s", base, name);
    }
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/') out[--length] = 0;
    return strncmp(out, dir, dir_length) == 0 && (out[dir_length] == '/' || out[dir_length] == 0);
}

static int is_watched(int fd) { return on() && fd >= 0 && fd < FDS && watched[fd]; }

/* Counts a write or sync; true if it is to fail, with errno set. The lock is held. */
static int fails(volatile uint64_t *counter, volatile uint64_t *from) {
    uint64_t n = ++*counter;
    if (*from == 0 || n < *from || (header->once && n != *from)) return 0;
    errno = (int)header->error;
    return 1;
}

static int do_open(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!resolve(at, name, path)) return syscall(SYS_openat, at, name, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat s;
    int existed = stat(path, &s) == 0;
    int fd = syscall(SYS_openat, at, name, flags, mode);
    int saved = errno;
    if (fd >= 0) {
        if (fd >= FDS) stop("too many descriptors");
        fstat(fd, &s);
        watched[fd] = S_ISDIR(s.st_mode) ? 2 : 1;
        if (!S_ISDIR(s.st_mode)) {
            record(existed ? OP_OPEN : OP_CREATE, s.st_ino, 0, 0, path, NULL, 0);
            if (existed && (flags & O_TRUNC)) record(OP_TRUNCATE, s.st_ino, 0, 0, NULL, NULL, 0);
            if (flags & (O_DSYNC | O_SYNC)) record(OP_UNSUPPORTED, 0, 0, 0, "O_SYNC", NULL, 0);
        }
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
    return fd;
}

#define OPEN_MODE(flags)                        \
    mode_t mode = 0;                            \
    if ((flags) & (O_CREAT | O_TMPFILE)) {      \
        va_list list;                           \
        va_start(list, flags);                  \
        mode = va_arg(list, mode_t);            \
        va_end(list);                           \
    }

int open(const char *name, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { OPEN_MODE(flags) return do_open(AT_FDCWD, name, flags, mode); }
int openat(int at, const char *name, int flags, ...) { OPEN_MODE(flags) return do_open(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { OPEN_MODE(flags) return do_open(at, name, flags, mode); }
int creat(const char *name, mode_t mode) { return do_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return do_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
    if (is_watched(fd)) watched[fd] = 0;
    return syscall(SYS_close, fd);
}

static int do_fcntl(int fd, int command, void *argument) {
    int result = syscall(SYS_fcntl, fd, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && is_watched(fd) && result >= 0 && result < FDS)
        watched[result] = watched[fd];
    return result;
}

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return do_fcntl(fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return do_fcntl(fd, command, argument);
}

/* A write at `offset`, or at the file's position where it is negative. */
static ssize_t do_write(int fd, const void *data, size_t length, off_t offset) {
    if (!is_watched(fd))
        return offset < 0 ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, offset);
    pthread_mutex_lock(&lock);
    ssize_t n = -1;
    if (!fails(&header->writes, &header->fail_write)) {
        n = offset < 0 ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, offset);
        if (n > 0) {
            off_t at = offset < 0 ? (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) - n : offset;
            record(OP_WRITE, inode_of(fd), at, 0, NULL, data, n);
        }
    }
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

ssize_t write(int fd, const void *data, size_t length) { return do_write(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return do_write(fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return do_write(fd, data, length, offset); }

/* Vectors are written piece by piece: a shorter write than asked for is always allowed. */
static ssize_t do_writev(int fd, const struct iovec *pieces, int count, off_t offset) {
    if (!is_watched(fd))
        return offset < 0 ? syscall(SYS_writev, fd, pieces, count)
                          : syscall(SYS_pwritev, fd, pieces, count, (long)offset, (long)(offset >> 32 >> 32));
    for (int i = 0; i < count; i++)
        if (pieces[i].iov_len > 0) return do_write(fd, pieces[i].iov_base, pieces[i].iov_len, offset);
    return 0;
}

ssize_t writev(int fd, const struct iovec *pieces, int count) { return do_writev(fd, pieces, count, -1); }
ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset) { return do_writev(fd, pieces, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t offset) { return do_writev(fd, pieces, count, offset); }

static int do_ftruncate(int fd, off_t length) {
    if (!is_watched(fd)) return syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&lock);
    int result = -1;
    if (!fails(&header->writes, &header->fail_write)) {
        result = syscall(SYS_ftruncate, fd, length);
        if (result == 0) record(OP_TRUNCATE, inode_of(fd), length, 0, NULL, NULL, 0);
    }
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int ftruncate(int fd, off_t length) { return do_ftruncate(fd, length); }
int ftruncate64(int fd, off64_t length) { return do_ftruncate(fd, length); }

static int do_fallocate(int fd, int mode, off_t offset, off_t length) {
    if (!is_watched(fd)) return syscall(SYS_fallocate, fd, mode, offset, length);
    pthread_mutex_lock(&lock);
    int result = -1;
    if (!fails(&header->writes, &header->fail_write)) {
        result = syscall(SYS_fallocate, fd, mode, offset, length);
        if (result == 0) {
            if (mode == 0)
                record(OP_ALLOCATE, inode_of(fd), offset, length, NULL, NULL, 0);
            else if (mode != FALLOC_FL_KEEP_SIZE)
                record(OP_UNSUPPORTED, 0, 0, 0, "fallocate", NULL, 0);
        }
    }
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length) { return do_fallocate(fd, mode, offset, length); }
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return do_fallocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) { return do_fallocate(fd, 0, offset, length) == 0 ? 0 : errno; }
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return do_fallocate(fd, 0, offset, length) == 0 ? 0 : errno; }

/* The names in a directory, as they are now; the lock is held. */
static void record_listing(int fd, uint64_t inode) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return;
    path[n] = 0;
    int again = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    if (!d) return;
    size_t room = 4096, used = 0;
    char *list = malloc(room);
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        uint16_t length = strlen(e->d_name);
        uint64_t id = e->d_ino;
        if (used + 10 + length > room) list = realloc(list, room = 2 * room + length);
        if (!list) stop("no memory");
        memcpy(list + used, &id, 8);
        memcpy(list + used + 8, &length, 2);
        memcpy(list + used + 10, e->d_name, length);
        used += 10 + length;
    }
    closedir(d);
    record(OP_LISTING, inode, 0, 0, NULL, list, used);
    free(list);
}

static int do_sync(int fd, long call) {
    if (!is_watched(fd)) return syscall(call, fd);
    pthread_mutex_lock(&lock);
    uint64_t inode = inode_of(fd);
    int failing = fails(&header->syncs, &header->fail_sync);
    if (watched[fd] == 2) record_listing(fd, inode);
    uint64_t begin = record(OP_SYNC_BEGIN, inode, 0, 0, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    int error = failing ? (int)header->error : 0;
    if (!failing && syscall(call, fd) != 0) error = errno;
    pthread_mutex_lock(&lock);
    record(OP_SYNC_END, inode, (int64_t)begin, error, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return error ? -1 : 0;
}

int fsync(int fd) { return do_sync(fd, SYS_fsync); }
int fdatasync(int fd) { return do_sync(fd, SYS_fdatasync); }

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    /* Promises nothing about durability: passed on, not recorded as a sync. */
    return syscall(SYS_sync_file_range, fd, offset, length, flags);
}

static int do_rename(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int a = resolve(from_at, from, old), b = resolve(to_at, to, new);
    if (!a && !b) return syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    int saved = errno;
    if (result == 0) {
        if (a && b && !(flags & RENAME_EXCHANGE))
            record(OP_RENAME, 0, 0, 0, old, new, strlen(new));
        else
            record(OP_UNSUPPORTED, 0, 0, 0, "rename across the directory's edge", NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return do_rename(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return do_rename(a, from, b, to, flags); }

static int do_unlink(int at, const char *name, int flags) {
    char path[PATH_MAX];
    if (!resolve(at, name, path)) return syscall(SYS_unlinkat, at, name, flags);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_unlinkat, at, name, flags);
    int saved = errno;
    if (result == 0) record(flags & AT_REMOVEDIR ? OP_RMDIR : OP_UNLINK, 0, 0, 0, path, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int unlink(const char *name) { return do_unlink(AT_FDCWD, name, 0); }
int unlinkat(int at, const char *name, int flags) { return do_unlink(at, name, flags); }
int rmdir(const char *name) { return do_unlink(AT_FDCWD, name, AT_REMOVEDIR); }

static int do_mkdir(int at, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!resolve(at, name, path)) return syscall(SYS_mkdirat, at, name, mode);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_mkdirat, at, name, mode);
    int saved = errno;
    struct stat s;
    if (result == 0 && stat(path, &s) == 0) record(OP_MKDIR, s.st_ino, 0, 0, path, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int mkdir(const char *name, mode_t mode) { return do_mkdir(AT_FDCWD, name, mode); }
int mkdirat(int at, const char *name, mode_t mode) { return do_mkdir(at, name, mode); }

static int do_link(int from_at, const char *from, int to_at, const char *to, int flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int a = resolve(from_at, from, old), b = resolve(to_at, to, new);
    if (!b) return syscall(SYS_linkat, from_at, from, to_at, to, flags);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_linkat, from_at, from, to_at, to, flags);
    int saved = errno;
    if (result == 0) {
        if (a)
            record(OP_LINK, 0, 0, 0, old, new, strlen(new));
        else
            record(OP_UNSUPPORTED, 0, 0, 0, "link across the directory's edge", NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

int link(const char *from, const char *to) { return do_link(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return do_link(a, from, b, to, flags); }
