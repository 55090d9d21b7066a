// What runs in a pod beside its containers: holds the pod's namespaces, and collects processes that lost their parent.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static void collect(int signal) {
  (void)signal;
  while (waitpid(-1, 0, WNOHANG) > 0)
    ;
}

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, collect);
  for (;;) pause();
}
