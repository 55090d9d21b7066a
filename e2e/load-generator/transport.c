// Sockets that never block, in plaintext or over TLS by OpenSSL.
#include "transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"

// Bytes that TLS reads from a socket in one call.
#define READ_AHEAD 65536

// The name in certificates of this machine, and the protocol that TLS negotiates.
#define SERVER_NAME "localhost"
static const unsigned char ALPN[] = {2, 'h', '2'};

static void fail_tls(const char *what) {
    char reason[256];
    ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
    fail("%s: %s", what, reason);
}

// Many records in one system call, and writes that continue where they ended.
static SSL_CTX *prepare_context(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    return context;
}

SSL_CTX *tls_for_client(const char *ca_file) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) fail_tls("TLS is not available");
    if (SSL_CTX_load_verify_locations(context, ca_file, NULL) != 1) fail_tls(ca_file);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, ALPN, sizeof ALPN);
    return prepare_context(context);
}

static int choose_h2(SSL *tls, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                     unsigned offered_length, void *unused) {
    (void)tls, (void)unused;
    int result = SSL_select_next_proto((unsigned char **)chosen, length, ALPN, sizeof ALPN, offered, offered_length);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

SSL_CTX *tls_for_server(const char *certificate_file, const char *key_file) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) fail_tls("TLS is not available");
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file) != 1) fail_tls(certificate_file);
    if (SSL_CTX_use_PrivateKey_file(context, key_file, SSL_FILETYPE_PEM) != 1) fail_tls(key_file);
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    return prepare_context(context);
}

static void prepare_socket(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

Transport transport_connect(int port, SSL_CTX *tls) {
    Transport transport = {socket(AF_INET, SOCK_STREAM, 0), NULL};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(transport.fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connecting to port %d failed: %s", port, strerror(errno));
    if (tls != NULL) {
        transport.tls = SSL_new(tls);
        SSL_set_fd(transport.tls, transport.fd);
        SSL_set_tlsext_host_name(transport.tls, SERVER_NAME);
        SSL_set1_host(transport.tls, SERVER_NAME);
        if (SSL_connect(transport.tls) != 1) fail_tls("the TLS handshake failed");
    }
    prepare_socket(transport.fd);
    return transport;
}

Transport transport_accept(int fd, SSL_CTX *tls) {
    Transport transport = {fd, NULL};
    prepare_socket(fd);
    if (tls != NULL) {
        transport.tls = SSL_new(tls);
        SSL_set_fd(transport.tls, fd);
        SSL_set_accept_state(transport.tls);
    }
    return transport;
}

// The meaning of a result that is no number of bytes.
static long outcome(const Transport *transport, int result) {
    if (transport->tls == NULL) return result != 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    int error = SSL_get_error(transport->tls, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long transport_read(Transport *transport, uint8_t *bytes, size_t capacity) {
    if (transport->tls != NULL) ERR_clear_error();
    long result = transport->tls == NULL ? read(transport->fd, bytes, capacity)
                                         : SSL_read(transport->tls, bytes, (int)capacity);
    return result > 0 ? result : outcome(transport, (int)result);
}

long transport_write(Transport *transport, const uint8_t *bytes, size_t length) {
    if (transport->tls != NULL) ERR_clear_error();
    long result = transport->tls == NULL ? send(transport->fd, bytes, length, MSG_NOSIGNAL)
                                         : SSL_write(transport->tls, bytes, (int)length);
    return result > 0 ? result : outcome(transport, (int)result);
}

void transport_close(Transport *transport) {
    if (transport->tls != NULL) SSL_free(transport->tls);
    close(transport->fd);
}
