// The command line and its help.
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define CONNECTIONS_MAX 4096
#define IN_FLIGHT_MAX 1024
#define KEYS_MAX 10000000

static const char HELP[] =
    "Usage: load-generator --port PORT [options]\n"
    "       load-generator --serve --port PORT [--expect over] [--tls-cert FILE --tls-key FILE]\n"
    "\n"
    "Sends ShouldRateLimit calls over HTTP/2 to a server on this machine, checks every answer, and\n"
    "prints one line of JSON about the measured time. Ends with exit code 1 when an answer is wrong.\n"
    "With --serve it answers every call with the same prepared bytes instead: against that server the\n"
    "generator measures nothing but itself. Port 0 is a free one; the first line says which.\n"
    "\n"
    "Load\n"
    "  --connections N    HTTP/2 connections (8)\n"
    "  --in-flight N      closed loop: calls in flight on each connection (64)\n"
    "  --rate N           open loop instead: N calls a second at random times (Poisson); the time of a\n"
    "                     call counts from the moment it was due\n"
    "  --warm-up S        seconds before the measured time (1)\n"
    "  --seconds S        seconds of the measured time (3)\n"
    "\n"
    "Calls\n"
    "  --domain NAME      (bench)\n"
    "  --entry KEY=VALUE  an entry of the descriptor, once or more; {key} in the value stands for the\n"
    "                     seven digits of a key chosen at random (user={key})\n"
    "  --descriptor       the entries that follow are of another descriptor\n"
    "  --keys N           different keys (100000)\n"
    "  --expect ok|over   what every answer must be (ok)\n"
    "  --trace-headers    a fresh traceparent and x-request-id on every call, as Envoy sends them\n"
    "  --tls-ca FILE      TLS; the server must have a certificate of this authority for localhost\n"
    "\n"
    "Report\n"
    "  --watch PID        also report the processor time and memory of a process; up to four times\n"
    "  --seed N           for the random numbers (1)\n"
    "\n"
    "Examples\n"
    "  load-generator --port 8081 --entry user={key} --keys 1000000\n"
    "  load-generator --port 8081 --connections 16 --in-flight 1 --keys 1\n"
    "  load-generator --port 8081 --rate 5000 --trace-headers\n";

enum { PORT = 256, SERVE, CONNECTIONS, IN_FLIGHT, RATE, WARM_UP, SECONDS, DOMAIN, ENTRY, DESCRIPTOR, KEYS, EXPECT, TRACE_HEADERS,
       TLS_CA, TLS_CERT, TLS_KEY, WATCH, SEED, HELP_FLAG };

static const struct option FLAGS[] = {
    {"port", required_argument, NULL, PORT},
    {"serve", no_argument, NULL, SERVE},
    {"connections", required_argument, NULL, CONNECTIONS},
    {"in-flight", required_argument, NULL, IN_FLIGHT},
    {"rate", required_argument, NULL, RATE},
    {"warm-up", required_argument, NULL, WARM_UP},
    {"seconds", required_argument, NULL, SECONDS},
    {"domain", required_argument, NULL, DOMAIN},
    {"entry", required_argument, NULL, ENTRY},
    {"descriptor", no_argument, NULL, DESCRIPTOR},
    {"keys", required_argument, NULL, KEYS},
    {"expect", required_argument, NULL, EXPECT},
    {"trace-headers", no_argument, NULL, TRACE_HEADERS},
    {"tls-ca", required_argument, NULL, TLS_CA},
    {"tls-cert", required_argument, NULL, TLS_CERT},
    {"tls-key", required_argument, NULL, TLS_KEY},
    {"watch", required_argument, NULL, WATCH},
    {"seed", required_argument, NULL, SEED},
    {"help", no_argument, NULL, HELP_FLAG},
    {NULL, 0, NULL, 0},
};

static double read_number(const char *flag, double min, double max) {
    char *end;
    double value = strtod(optarg, &end);
    if (end == optarg || *end != '\0' || !(value >= min && value <= max))
        fail("--%s is '%s'; allowed are %g to %g", flag, optarg, min, max);
    return value;
}

static void read_flag(Options *options, int flag) {
    switch (flag) {
    case PORT: options->port = (int)read_number("port", 0, 65535); break;
    case SERVE: options->is_server = true; break;
    case CONNECTIONS: options->connections = (int)read_number("connections", 1, CONNECTIONS_MAX); break;
    case IN_FLIGHT: options->in_flight = (int)read_number("in-flight", 1, IN_FLIGHT_MAX); break;
    case RATE: options->rate = read_number("rate", 1, 1e7); break;
    case WARM_UP: options->warm_up_seconds = read_number("warm-up", 0, 3600); break;
    case SECONDS: options->seconds = read_number("seconds", 0.01, 3600); break;
    case DOMAIN: options->domain = optarg; break;
    case ENTRY:
    case DESCRIPTOR:
        if (options->entry_count == ENTRIES_MAX) fail("there are more than %d entries", ENTRIES_MAX);
        options->entries[options->entry_count++] = flag == ENTRY ? optarg : NULL;
        break;
    case KEYS: options->keys = (uint32_t)read_number("keys", 1, KEYS_MAX); break;
    case EXPECT:
        if (strcmp(optarg, "ok") != 0 && strcmp(optarg, "over") != 0) fail("--expect is '%s'", optarg);
        options->expected = strcmp(optarg, "ok") == 0 ? CODE_OK : CODE_OVER_LIMIT;
        break;
    case TRACE_HEADERS: options->has_trace_headers = true; break;
    case TLS_CA: options->tls_ca = optarg; break;
    case TLS_CERT: options->tls_certificate = optarg; break;
    case TLS_KEY: options->tls_key = optarg; break;
    case WATCH:
        if (options->watched_count == WATCHED_MAX) fail("there are more than %d processes to watch", WATCHED_MAX);
        options->watched[options->watched_count++] = (int)read_number("watch", 1, 1e9);
        break;
    case SEED: options->seed = (uint64_t)read_number("seed", 1, 1e15); break;
    case HELP_FLAG: fputs(HELP, stdout); exit(0);
    default: fputs("Run load-generator --help for usage\n", stderr); exit(2);
    }
}

void options_read(Options *options, int count, char **arguments) {
    *options = (Options){.port = -1, .connections = 8, .in_flight = 64, .warm_up_seconds = 1, .seconds = 3,
                         .keys = 100000, .domain = "bench", .expected = CODE_OK, .seed = 1};
    for (int flag; (flag = getopt_long(count, arguments, "", FLAGS, NULL)) != -1;) read_flag(options, flag);
    if (options->port < 0 || optind < count || (options->port == 0 && !options->is_server)) {
        fputs(HELP, stderr);
        exit(2);
    }
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL)) fail("--tls-cert and --tls-key go together");
    if (options->entry_count == 0) options->entries[options->entry_count++] = "user=" KEY_MARKER;
}
