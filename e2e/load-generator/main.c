// The load generator of `make bench`: measures how a server of ShouldRateLimit answers, or serves
// prepared answers itself.
#include <signal.h>

#include "ceiling.h"
#include "huffman.h"
#include "load.h"
#include "options.h"

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    Options options;
    options_read(&options, count, arguments);
    huffman_prepare();
    if (options.is_server) ceiling_run(&options);
    load_run(&options);
    return 0;
}
