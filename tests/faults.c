/* Counts the calls of a process tree that write below a directory; at a chosen one it kills the
 * process or its group, or lets the disk be full from then on. Preloaded by tests/faults.py.
 *
 *   FAULTS_FILE   mapped by all processes: the number of calls, the chosen one, and what happens
 *                 there. FILE.log gets a line for each call: its number, its name, its path.
 *   FAULTS_BELOW  only files below this directory count
 *   FAULTS_NAME   only calls like this pattern count, of the name of the call and its path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, PROCESS, GROUP, FULL };
enum { PASS, HALF, FAIL };

static struct control { uint64_t calls, at, kind; } *control;
static char below[PATH_MAX], log_path[PATH_MAX], pattern[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void) {
    const char *file = getenv("FAULTS_FILE"), *directory = getenv("FAULTS_BELOW");
    const char *name = getenv("FAULTS_NAME");
    if (!file || !directory) return;
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    snprintf(below, sizeof below, "%s", directory);
    snprintf(pattern, sizeof pattern, "%s", name ? name : "*");
    snprintf(log_path, sizeof log_path, "%s.log", file);
    if (map != MAP_FAILED) control = map;
}

/* For a copy of a process that had no file: read the variables of its own. */
void faults_begin(void) { begin(); }

static int is_below(const char *path) {
    size_t length = strlen(below);
    return !strncmp(path, below, length) && (path[length] == '/' || !path[length]);
}

/* The path that a descriptor stands for. */
static int of_descriptor(int fd, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, name, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static void of_name(int directory, const char *name, char *path) {
    if (name[0] == '/') { snprintf(path, PATH_MAX, "%s", name); return; }
    char base[PATH_MAX] = "";
    if (directory == AT_FDCWD) { if (syscall(SYS_getcwd, base, sizeof base) < 0) base[0] = 0; }
    else of_descriptor(directory, base);
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) path[0] = 0;
}

static void die(void) {
    kill(control->kind == GROUP ? 0 : getpid(), SIGKILL);
    for (;;) pause();
}

/* Note a call; `grows` says that it needs room on the disk. A write that is hit is cut in half. */
static int noted(const char *call, const char *path, int grows, int divides) {
    char line[PATH_MAX + 64];
    if (!control || !is_below(path)) return PASS;
    snprintf(line, sizeof line, "%s %s", call, path);
    if (fnmatch(pattern, line, 0)) return PASS;
    uint64_t n = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST), at = control->at;
    int length = snprintf(line, sizeof line, "%lu %s %s\n", (unsigned long)n, call, path);
    int log = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log >= 0) { syscall(SYS_write, log, line, length); syscall(SYS_close, log); }
    if (!at || control->kind == COUNT) return PASS;
    if (control->kind != FULL) {
        if (n != at) return PASS;
        if (divides) return HALF;
        die();
    }
    if (n < at || !grows) return PASS;
    return n == at && divides ? HALF : FAIL;
}

static int on_name(const char *call, int directory, const char *name, int grows) {
    int saved = errno;
    pthread_once(&once, begin);
    if (!control || !name) return PASS;
    char path[PATH_MAX];
    of_name(directory, name, path);
    int found = noted(call, path, grows, 0);
    errno = found == FAIL ? ENOSPC : saved;
    return found;
}

static int on_descriptor(const char *call, int fd, int grows, int divides) {
    int saved = errno;
    pthread_once(&once, begin);
    if (!control) return PASS;
    char path[PATH_MAX];
    if (!of_descriptor(fd, path) || path[0] != '/') { errno = saved; return PASS; }
    int found = noted(call, path, grows, divides);
    errno = found == FAIL ? ENOSPC : saved;
    return found;
}

static int is_there(int directory, const char *path) {
    struct stat known;
    int saved = errno, found = !fstatat(directory, path, &known, 0);
    errno = saved;
    return found;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
/* One that needs no room, one that does. */
#define NAMED(type, name, parameters, arguments, directory, path, grows)         \
    type name parameters {                                                       \
        REAL(name);                                                              \
        return on_name(#name, directory, path, grows) == FAIL ? (type)-1 : real arguments; \
    }
#define HELD(type, name, parameters, arguments, fd, grows)                       \
    type name parameters {                                                       \
        REAL(name);                                                              \
        return on_descriptor(#name, fd, grows, 0) == FAIL ? (type)-1 : real arguments; \
    }
/* A write that is hit writes half of its bytes. */
#define CUT(name, parameters, arguments, fd)                                     \
    ssize_t name parameters {                                                    \
        REAL(name);                                                              \
        int found = on_descriptor(#name, fd, 1, count > 1);                      \
        if (found == FAIL) return -1;                                            \
        if (found == HALF) count /= 2;                                           \
        ssize_t done = real arguments;                                           \
        if (found == HALF && control->kind != FULL) die();                       \
        return done;                                                             \
    }

CUT(write, (int fd, const void *data, size_t count), (fd, data, count), fd)
CUT(pwrite, (int fd, const void *data, size_t count, off_t at), (fd, data, count, at), fd)
CUT(pwrite64, (int fd, const void *data, size_t count, off64_t at), (fd, data, count, at), fd)
CUT(sendfile, (int fd, int in, off_t *at, size_t count), (fd, in, at, count), fd)
CUT(sendfile64, (int fd, int in, off64_t *at, size_t count), (fd, in, at, count), fd)
CUT(copy_file_range, (int in, off64_t *from, int fd, off64_t *to, size_t count, unsigned flags),
    (in, from, fd, to, count, flags), fd)
HELD(ssize_t, writev, (int fd, const struct iovec *parts, int number), (fd, parts, number), fd, 1)
HELD(ssize_t, pwritev, (int fd, const struct iovec *parts, int number, off_t at),
     (fd, parts, number, at), fd, 1)
HELD(ssize_t, pwritev64, (int fd, const struct iovec *parts, int number, off64_t at),
     (fd, parts, number, at), fd, 1)
HELD(int, fsync, (int fd), (fd), fd, 1)
HELD(int, fdatasync, (int fd), (fd), fd, 1)
HELD(int, ftruncate, (int fd, off_t size), (fd, size), fd, 0)
HELD(int, ftruncate64, (int fd, off64_t size), (fd, size), fd, 0)
HELD(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), fd, 1)
HELD(int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size), fd, 1)

NAMED(int, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to, 0)
NAMED(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to, 0)
NAMED(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
      (a, from, b, to, flags), b, to, 0)
NAMED(int, unlink, (const char *path), (path), AT_FDCWD, path, 0)
NAMED(int, unlinkat, (int at, const char *path, int flags), (at, path, flags), at, path, 0)
NAMED(int, remove, (const char *path), (path), AT_FDCWD, path, 0)
NAMED(int, rmdir, (const char *path), (path), AT_FDCWD, path, 0)
NAMED(int, link, (const char *from, const char *to), (from, to), AT_FDCWD, to, 1)
NAMED(int, linkat, (int a, const char *from, int b, const char *to, int flags),
      (a, from, b, to, flags), b, to, 1)
NAMED(int, symlink, (const char *from, const char *to), (from, to), AT_FDCWD, to, 1)
NAMED(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path,
      !is_there(AT_FDCWD, path))
NAMED(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), at, path,
      !is_there(at, path))

/* These return the number of the error. */
int posix_fallocate(int fd, off_t at, off_t size) {
    REAL(posix_fallocate);
    return on_descriptor("posix_fallocate", fd, 1, 0) == FAIL ? ENOSPC : real(fd, at, size);
}

int posix_fallocate64(int fd, off64_t at, off64_t size) {
    REAL(posix_fallocate64);
    return on_descriptor("posix_fallocate64", fd, 1, 0) == FAIL ? ENOSPC : real(fd, at, size);
}

/* A file that is there needs no room to be opened. */
static int opens(const char *call, int at, const char *path, int flags) {
    if ((flags & O_ACCMODE) == O_RDONLY) return PASS;
    return on_name(call, at, path, (flags & O_CREAT) && !is_there(at, path));
}

#define MODE                                                                     \
    mode_t mode = 0;                                                             \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                       \
        va_list more;                                                            \
        va_start(more, flags);                                                   \
        mode = va_arg(more, mode_t);                                             \
        va_end(more);                                                            \
    }
#define OPEN(name, parameters, arguments, at)                                    \
    int name parameters {                                                        \
        REAL(name);                                                              \
        MODE                                                                     \
        return opens(#name, at, path, flags) == FAIL ? -1 : real arguments;      \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)

/* What the C library buffers never passes through write() above. */
size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    REAL(fwrite);
    int found = on_descriptor("fwrite", fileno(file), 1, count > 1);
    if (found == FAIL) return 0;
    if (found == HALF) count /= 2;
    size_t done = real(data, size, count, file);
    if (found == HALF && control->kind != FULL) { fflush(file); die(); }
    return done;
}

static FILE *opened(const char *call, const char *path, const char *mode, FILE *(*real)(const char *, const char *)) {
    int flags = mode[0] == 'r' ? (strchr(mode, '+') ? O_RDWR : O_RDONLY) : O_WRONLY | O_CREAT;
    return opens(call, AT_FDCWD, path, flags) == FAIL ? NULL : real(path, mode);
}

FILE *fopen(const char *path, const char *mode) { REAL(fopen); return opened("fopen", path, mode, real); }
FILE *fopen64(const char *path, const char *mode) { REAL(fopen64); return opened("fopen64", path, mode, real); }
