// Measures the longest turn of the event loop of a program that it is preloaded into: the time of the main thread from
// the end of a wait in epoll to the next wait. Nothing is added to the program's own work but two clocks in each turn.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Nanoseconds of the turn with the most processor time, in the file that LONGEST_TURN_FILE names, which the benchmark
// has made; it clears them before a measurement. All processes with the library share it: a race may lose one turn.
struct longest {
  uint64_t cpu;
  uint64_t wall;
  uint64_t began; // On the monotonic clock, as in profiles of V8.
};

static struct longest *longest;
static struct longest turn; // What the clocks were when the turn began.
static int (*epoll_wait_of_libc)(int, struct epoll_event *, int, int, const sigset_t *);

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void load(void) {
  epoll_wait_of_libc = dlsym(RTLD_NEXT, "epoll_pwait");
  const char *path = getenv("LONGEST_TURN_FILE");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *longest, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) longest = page;
  close(file);
}

int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
  if (longest == NULL || gettid() != getpid()) return epoll_wait_of_libc(epoll, events, most, timeout, mask);
  uint64_t cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - turn.cpu;
  if (turn.began != 0 && cpu > longest->cpu)
    *longest = (struct longest){cpu, nanoseconds(CLOCK_MONOTONIC) - turn.began, turn.began};
  int count = epoll_wait_of_libc(epoll, events, most, timeout, mask);
  turn.cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  turn.began = nanoseconds(CLOCK_MONOTONIC);
  return count;
}
