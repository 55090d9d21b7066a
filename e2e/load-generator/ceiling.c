// The server that decides nothing: it reads no header and no message, and answers every call with
// the same prepared bytes. What a load reaches against it is what the generator can measure.
#include "ceiling.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "fail.h"
#include "frame-input.h"

#define EVENTS_MAX 256
#define OUT_SIZE (1 << 22)

// Received bytes after which the client gets room for more.
#define WINDOW_STEP 16384

// The answer of a call: headers, message and trailers.
static uint8_t answer[512];
static size_t answer_length;
static size_t stream_places[3];

typedef struct {
    Transport transport;
    FrameInput input;
    uint32_t received;
    uint8_t *out;
    unsigned out_length, out_sent;
    bool is_blocked;
} Peer;

static void add_frame(unsigned place, const uint8_t *payload, size_t length, uint8_t type, uint8_t flags) {
    stream_places[place] = answer_length + 5;
    answer_length += put_frame_header(answer + answer_length, length, type, flags, 0);
    memcpy(answer + answer_length, payload, length);
    answer_length += length;
}

static void prepare_answer(Code code) {
    // ":status: 200" of the static table; "content-type" by its name there; "grpc-status" in full.
    static const uint8_t headers[] = "\x88\x0f\x10\x10" "application/grpc";
    static const uint8_t trailers[] = "\x00\x0b" "grpc-status" "\x01" "0";
    uint8_t message[256];
    add_frame(0, headers, sizeof headers - 1, FRAME_HEADERS, FLAG_END_HEADERS);
    add_frame(1, message, answer_write(message, code), FRAME_DATA, 0);
    add_frame(2, trailers, sizeof trailers - 1, FRAME_HEADERS, FLAG_END_HEADERS | FLAG_END_STREAM);
}

static uint8_t *add_output(Peer *peer, size_t length) {
    if (peer->out_length + length > OUT_SIZE) fail("a client reads too slowly");
    uint8_t *out = peer->out + peer->out_length;
    peer->out_length += (unsigned)length;
    return out;
}

static void take_frame(void *context, const Frame *frame) {
    Peer *peer = context;
    if (frame->type == FRAME_DATA) {
        peer->received += (uint32_t)frame->length;
        if ((frame->flags & FLAG_END_STREAM) == 0) return;
        uint8_t *out = add_output(peer, answer_length);
        memcpy(out, answer, answer_length);
        for (unsigned place = 0; place < 3; place++) put_u32(out + stream_places[place], frame->stream);
    } else if (frame->type == FRAME_SETTINGS && (frame->flags & FLAG_ACK) == 0) {
        put_frame_header(add_output(peer, FRAME_HEADER_LENGTH), 0, FRAME_SETTINGS, FLAG_ACK, 0);
    }
}

// False when the peer closed the connection.
static bool read_peer(Peer *peer) {
    if (!input_read(&peer->input, &peer->transport, take_frame, peer)) return false;
    if (peer->received >= WINDOW_STEP) {
        uint8_t *out = add_output(peer, FRAME_HEADER_LENGTH + 4);
        put_frame_header(out, 4, FRAME_WINDOW_UPDATE, 0, 0);
        put_u32(out + FRAME_HEADER_LENGTH, peer->received);
        peer->received = 0;
    }
    return true;
}

static bool write_peer(Peer *peer) {
    while (peer->out_sent < peer->out_length) {
        long sent = transport_write(&peer->transport, peer->out + peer->out_sent, peer->out_length - peer->out_sent);
        if (sent < 0) return false;
        if (sent == 0) break;
        peer->out_sent += (unsigned)sent;
    }
    peer->is_blocked = peer->out_sent < peer->out_length;
    if (!peer->is_blocked) peer->out_sent = peer->out_length = 0;
    return true;
}

static void accept_peer(int epoll, int listener, SSL_CTX *tls) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) return;
    Peer *peer = allocate(sizeof *peer);
    peer->transport = transport_accept(fd, tls);
    peer->input.skipped = PREFACE_LENGTH;
    peer->out = allocate(OUT_SIZE);
    put_frame_header(add_output(peer, FRAME_HEADER_LENGTH), 0, FRAME_SETTINGS, 0, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void serve_peer(int epoll, Peer *peer) {
    bool was_blocked = peer->is_blocked;
    if (!read_peer(peer) || !write_peer(peer)) {
        transport_close(&peer->transport);
        free(peer->out);
        free(peer);
        return;
    }
    if (peer->is_blocked == was_blocked) return;
    struct epoll_event event = {.events = EPOLLIN | (peer->is_blocked ? EPOLLOUT : 0), .data.ptr = peer};
    epoll_ctl(epoll, EPOLL_CTL_MOD, peer->transport.fd, &event);
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, SOMAXCONN) != 0)
        fail("listening on port %d failed: %s", port, strerror(errno));
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

void ceiling_run(const Options *options) {
    SSL_CTX *tls = options->tls_key == NULL ? NULL : tls_for_server(options->tls_certificate, options->tls_key);
    prepare_answer(options->expected);
    int epoll = epoll_create1(0);
    int listener = listen_on(options->port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int at = 0; at < count; at++) {
            if (events[at].data.ptr == NULL) accept_peer(epoll, listener, tls);
            else serve_peer(epoll, events[at].data.ptr);
        }
    }
}
