// Sockets that never block, in plaintext or over TLS.
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int fd;
    // NULL in plaintext.
    SSL *tls;
} Transport;

// Makes the TLS context of a client, which verifies servers against the certificates in a file and offers h2.
SSL_CTX *tls_for_client(const char *ca_file);

// Makes the TLS context of a server.
SSL_CTX *tls_for_server(const char *certificate_file, const char *key_file);

// Connects to a port of this machine; `tls` is NULL for plaintext.
Transport transport_connect(int port, SSL_CTX *tls);

// Takes an accepted socket, whose handshake has not happened yet.
Transport transport_accept(int fd, SSL_CTX *tls);

// Reads what is there: the number of bytes, 0 when there is nothing now, -1 when the peer closed.
long transport_read(Transport *transport, uint8_t *bytes, size_t capacity);

// Writes what fits: the number of bytes, 0 when nothing does now, -1 when the peer closed.
long transport_write(Transport *transport, const uint8_t *bytes, size_t length);

void transport_close(Transport *transport);

#endif
