// The measurement: one thread, which sleeps in epoll whenever there is nothing to do, because stores
// share its processor.
#include "load.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "call-connection.h"
#include "fail.h"
#include "histogram.h"
#include "http2.h"
#include "processes.h"

#define EVENTS_MAX 256

// Longest sleep in nanoseconds: the end of the measured time must not be missed by much.
#define SLEEP_MAX_NS 10000000

// Longest wait for the last answers in nanoseconds.
#define DRAIN_MAX_NS 2000000000

// Calls of an open loop that wait because the server takes no more of them.
#define WAITING_MAX (1 << 20)

typedef struct {
    const Options *options;
    RequestTemplate request;
    CallConnection *connections;
    int epoll;
    uint64_t random;
    // Open loop: when the next call is due, and those that were due and could not be sent.
    uint64_t next_due_ns;
    uint64_t *waiting;
    uint64_t waiting_first, waiting_end;
    unsigned turn;
    // The time of the events that are being handled.
    uint64_t now_ns;
    enum { WARMING_UP, MEASURING, DRAINING } phase;
    Histogram histogram;
    uint64_t answers;
    // Answers before and after the measured time.
    uint64_t other_answers;
} Load;

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// xorshift64*: quick, and the same for the same seed.
static uint64_t next_random(Load *load) {
    load->random ^= load->random >> 12;
    load->random ^= load->random << 25;
    load->random ^= load->random >> 27;
    return load->random * 0x2545f4914f6cdd1d;
}

// A number from 0 to below 1.
static double next_share(Load *load) {
    return (double)(next_random(load) >> 11) / 9007199254740992.0;
}

static void put_hex(char *out, uint64_t value, int digits) {
    for (; digits > 0; digits--, value >>= 4) *out++ = "0123456789abcdef"[value & 15];
}

// Writes new values into the fields that change, which are the last ones.
static void renew_trace_fields(Load *load, HpackEncoder *encoder) {
    for (unsigned at = 0; at < encoder->count; at++) {
        RequestField *field = &encoder->fields[at];
        if (!field->changes) continue;
        // Hexadecimal digits replace those of the first value; dashes and the version stay.
        unsigned begin = strcmp(field->name, "traceparent") == 0 ? 3 : 0;
        unsigned end = begin == 3 ? 52 : (unsigned)strlen(field->value);
        for (unsigned digit = begin; digit < end; digit += 4) {
            uint64_t value = next_random(load);
            for (unsigned place = digit; place < digit + 4 && place < end; place++, value >>= 4)
                if (field->value[place] != '-') put_hex(&field->value[place], value, 1);
        }
    }
}

static void add_fields(const Options *options, HpackEncoder *encoder) {
    encoder_add_field(encoder, ":method", "POST", false);
    encoder_add_field(encoder, ":scheme", options->tls_ca == NULL ? "http" : "https", false);
    encoder_add_field(encoder, ":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", false);
    encoder_add_field(encoder, ":authority", "ratelimit", false);
    encoder_add_field(encoder, "te", "trailers", false);
    encoder_add_field(encoder, "grpc-timeout", "20000m", false);
    encoder_add_field(encoder, "content-type", "application/grpc", false);
    encoder_add_field(encoder, "x-envoy-internal", "true", false);
    encoder_add_field(encoder, "x-forwarded-for", "10.1.2.3", false);
    encoder_add_field(encoder, "x-envoy-expected-rq-timeout-ms", "20000", false);
    if (options->has_trace_headers) {
        encoder_add_field(encoder, "x-request-id", "00000000-0000-4000-8000-000000000000", true);
        encoder_add_field(encoder, "traceparent", "00-00000000000000000000000000000000-0000000000000000-01", true);
    }
}

static void watch(Load *load, CallConnection *connection, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (connection->is_blocked ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(load->epoll, operation, connection->transport.fd, &event);
}

static void flush(Load *load, CallConnection *connection) {
    bool was_blocked = connection->is_blocked;
    if (connection->out_length > 0) connection_flush(connection);
    if (connection->is_blocked != was_blocked) watch(load, connection, EPOLL_CTL_MOD);
}

static void send_call(Load *load, CallConnection *connection, uint64_t due_ns) {
    if (load->options->has_trace_headers) renew_trace_fields(load, &connection->encoder);
    uint32_t key = load->options->keys == 1 ? 0 : (uint32_t)(next_share(load) * load->options->keys);
    connection_call(connection, &load->request, key, due_ns);
}

static void on_answer(void *context, uint64_t due_ns) {
    Load *load = context;
    if (load->phase != MEASURING) {
        load->other_answers++;
        return;
    }
    load->answers++;
    histogram_add(&load->histogram, load->now_ns > due_ns ? load->now_ns - due_ns : 0);
}

// Fills a connection of a closed loop up to its calls in flight.
static void refill(Load *load, CallConnection *connection) {
    while (connection->in_flight < (unsigned)load->options->in_flight && connection_has_place(connection))
        send_call(load, connection, load->now_ns);
}

// The next connection in turn that takes a call; NULL when none does.
static CallConnection *next_connection(Load *load) {
    for (int tried = 0; tried < load->options->connections; tried++) {
        CallConnection *connection = &load->connections[load->turn++ % (unsigned)load->options->connections];
        if (connection_has_place(connection)) return connection;
    }
    return NULL;
}

// Sends the calls of an open loop that are due, as far as the server takes them.
static void send_due(Load *load) {
    for (; load->next_due_ns <= load->now_ns; load->waiting_end++) {
        if (load->waiting_end - load->waiting_first == WAITING_MAX)
            fail("the server cannot keep up with %g calls a second", load->options->rate);
        load->waiting[load->waiting_end % WAITING_MAX] = load->next_due_ns;
        load->next_due_ns += 1 + (uint64_t)(-log(1 - next_share(load)) * 1e9 / load->options->rate);
    }
    while (load->waiting_first < load->waiting_end) {
        CallConnection *connection = next_connection(load);
        if (connection == NULL) return;
        send_call(load, connection, load->waiting[load->waiting_first++ % WAITING_MAX]);
    }
}

// Sleeps until something happens, the next call is due, or `end_ns`.
static int sleep_until(Load *load, struct epoll_event *events, uint64_t end_ns) {
    uint64_t wake_ns = load->now_ns + SLEEP_MAX_NS;
    if (end_ns < wake_ns) wake_ns = end_ns;
    if (load->options->rate > 0 && load->phase != DRAINING && load->next_due_ns < wake_ns) wake_ns = load->next_due_ns;
    uint64_t now_ns = clock_ns();
    struct timespec time = {0, wake_ns > now_ns ? (long)(wake_ns - now_ns) : 0};
    int count = epoll_pwait2(load->epoll, events, EVENTS_MAX, &time, NULL);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2 failed: %s", strerror(errno));
    return count < 0 ? 0 : count;
}

static bool is_drained(const Load *load) {
    for (int at = 0; at < load->options->connections; at++)
        if (load->connections[at].in_flight > 0) return false;
    return true;
}

static void run_until(Load *load, uint64_t end_ns) {
    struct epoll_event events[EVENTS_MAX];
    bool is_closed_loop = load->options->rate == 0;
    bool is_draining = load->phase == DRAINING;
    for (load->now_ns = clock_ns(); load->now_ns < end_ns && !(is_draining && is_drained(load));) {
        int count = sleep_until(load, events, end_ns);
        for (int at = 0; at < count; at++) {
            CallConnection *connection = events[at].data.ptr;
            // One time for all answers of one read: it is taken when they have arrived.
            load->now_ns = clock_ns();
            if (events[at].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
                connection_read(connection);
            if (is_closed_loop && !is_draining) refill(load, connection);
            flush(load, connection);
        }
        load->now_ns = clock_ns();
        if (is_closed_loop || is_draining) continue;
        send_due(load);
        for (int at = 0; at < load->options->connections; at++) flush(load, &load->connections[at]);
    }
}

static void open_connections(Load *load, SSL_CTX *tls) {
    const Options *options = load->options;
    load->connections = allocate((unsigned long)options->connections * sizeof *load->connections);
    for (int at = 0; at < options->connections; at++) {
        CallConnection *connection = &load->connections[at];
        connection_open(connection, options->port, tls, options->rate > 0 ? CALLS_MAX : (unsigned)options->in_flight);
        connection->expected = options->expected;
        connection->answered = on_answer;
        connection->context = load;
        add_fields(options, &connection->encoder);
        watch(load, connection, EPOLL_CTL_ADD);
    }
}

// A call that still waits has taken at least that long: leaving it out would make a server that
// answers few calls look fast.
static void count_unanswered(Load *load, uint64_t end_ns) {
    for (int at = 0; at < load->options->connections; at++) {
        CallConnection *connection = &load->connections[at];
        for (unsigned place = 0; place < connection->call_places; place++) {
            uint64_t due_ns = connection->calls[place].due_ns;
            if (due_ns > 0) histogram_add(&load->histogram, end_ns - due_ns);
        }
    }
    for (; load->waiting_first < load->waiting_end; load->waiting_first++)
        histogram_add(&load->histogram, end_ns - load->waiting[load->waiting_first % WAITING_MAX]);
}

static double own_cpu_ms(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1000.0 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000.0;
}

static void report(const Load *load, double seconds, double cpu_ms, const double *watched_ms) {
    const Histogram *histogram = &load->histogram;
    printf("{\"answers\":%llu,\"allAnswers\":%llu,\"seconds\":%.6f,", (unsigned long long)load->answers,
           (unsigned long long)(load->answers + load->other_answers), seconds);
    printf("\"p50Micros\":%.1f,\"p90Micros\":%.1f,\"p99Micros\":%.1f,\"p999Micros\":%.1f,\"maxMicros\":%.1f,",
           histogram_micros(histogram, 0.5), histogram_micros(histogram, 0.9), histogram_micros(histogram, 0.99),
           histogram_micros(histogram, 0.999), (double)histogram->max_ns / 1000);
    printf("\"generatorCpuMs\":%.1f,\"watched\":[", cpu_ms);
    for (unsigned at = 0; at < load->options->watched_count; at++)
        printf("%s{\"pid\":%d,\"cpuMs\":%.1f,\"residentBytes\":%.0f}", at > 0 ? "," : "", load->options->watched[at],
               watched_ms[at], process_resident_bytes(load->options->watched[at]));
    printf("]}\n");
}

// A call of an open loop that is sent late would count against the server: what else runs on this
// processor has to wait. Without the right to do so (CAP_SYS_NICE) the generator runs as any program.
static void take_precedence(void) {
    struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority);
}

void load_run(const Options *options) {
    // Sleeps end when they should, not up to 50 microseconds later.
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (options->rate > 0) take_precedence();
    Load *load = allocate(sizeof *load);
    load->options = options;
    load->random = options->seed * 0x9e3779b97f4a7c15;
    load->epoll = epoll_create1(0);
    if (options->rate > 0) load->waiting = allocate(WAITING_MAX * sizeof *load->waiting);
    request_prepare(&load->request, options->domain, options->entries, options->entry_count);
    open_connections(load, options->tls_ca == NULL ? NULL : tls_for_client(options->tls_ca));
    load->now_ns = clock_ns();
    load->next_due_ns = load->now_ns;
    for (int at = 0; at < options->connections; at++) {
        if (options->rate == 0) refill(load, &load->connections[at]);
        flush(load, &load->connections[at]);
    }
    run_until(load, load->now_ns + (uint64_t)(options->warm_up_seconds * 1e9));
    double watched_ms[WATCHED_MAX];
    for (unsigned at = 0; at < options->watched_count; at++) watched_ms[at] = process_cpu_ms(options->watched[at]);
    double cpu_ms = own_cpu_ms();
    uint64_t begin_ns = clock_ns();
    load->phase = MEASURING;
    run_until(load, begin_ns + (uint64_t)(options->seconds * 1e9));
    uint64_t end_ns = clock_ns();
    cpu_ms = own_cpu_ms() - cpu_ms;
    for (unsigned at = 0; at < options->watched_count; at++)
        watched_ms[at] = process_cpu_ms(options->watched[at]) - watched_ms[at];
    count_unanswered(load, end_ns);
    // The server ends what it began before the next measurement, and every command to its store has
    // an answer that is counted.
    load->phase = DRAINING;
    run_until(load, end_ns + DRAIN_MAX_NS);
    report(load, (double)(end_ns - begin_ns) / 1e9, cpu_ms, watched_ms);
}
