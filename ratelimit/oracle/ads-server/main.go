// A configuration server made of go-control-plane's snapshot cache: what the tests of the xDS client talk to beside a scripted server of our own. It takes
// commands as lines of JSON on standard input, tells what happens as lines of JSON on standard output, and ends when its input does. It is run by tests
// only, and is no part of any program.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
)

// Largest line of input, in bytes: a configuration of some megabytes.
const lineMax = 64 << 20

// A command: the resources that a node is to have under a version. Without a version the node's snapshot is removed.
type command struct {
	Node      string            `json:"node"`
	Version   string            `json:"version"`
	Resources []json.RawMessage `json:"resources"`
}

// What happened, one line each. Of the incremental method, a request has the versions that its client holds, and a response what it adds and removes.
type event struct {
	Event    string            `json:"event"`
	Delta    bool              `json:"delta,omitempty"`
	Held     map[string]string `json:"held,omitempty"`
	Changed  []string          `json:"changed,omitempty"`
	Removed  []string          `json:"removed,omitempty"`
	Port     int               `json:"port,omitempty"`
	Stream   int64             `json:"stream,omitempty"`
	Node     string            `json:"node,omitempty"`
	Metadata map[string]any    `json:"metadata,omitempty"`
	Headers  metadata.MD       `json:"headers,omitempty"`
	Version  string            `json:"version,omitempty"`
	Nonce    string            `json:"nonce,omitempty"`
	Code     int32             `json:"code,omitempty"`
	Error    string            `json:"error,omitempty"`
}

// Writes events; callbacks come from many goroutines.
type teller struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (t *teller) tell(e event) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err := t.encoder.Encode(e); err != nil {
		log.Fatal("cannot tell: ", err)
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	certificate := flag.String("cert", "", "certificate file; empty: plain text")
	key := flag.String("key", "", "its private key")
	authority := flag.String("client-ca", "", "authority of the clients' certificates, which are then required")
	flag.Parse()
	options, err := serverOptions(*certificate, *key, *authority)
	if err != nil {
		log.Fatal(err)
	}
	out := &teller{encoder: json.NewEncoder(os.Stdout)}
	snapshots := cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	serving := grpc.NewServer(options...)
	ads := server.NewServer(context.Background(), snapshots, callbacks(out))
	discovery.RegisterAggregatedDiscoveryServiceServer(serving, ads)
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	out.tell(event{Event: "listening", Port: listener.Addr().(*net.TCPAddr).Port})
	go obey(snapshots, out)
	if err := serving.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

func serverOptions(certificate, key, authority string) ([]grpc.ServerOption, error) {
	if certificate == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, err
		}
		settings.ClientCAs = x509.NewCertPool()
		if !settings.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("no certificate in %s", authority)
		}
		settings.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(settings))}, nil
}

// Carries out commands until the input ends, and the process with it.
func obey(snapshots cache.SnapshotCache, out *teller) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineMax)
	for lines.Scan() {
		if err := carryOut(lines.Bytes(), snapshots, out); err != nil {
			out.tell(event{Event: "refused", Error: err.Error()})
		}
	}
	os.Exit(0)
}

func carryOut(line []byte, snapshots cache.SnapshotCache, out *teller) error {
	var wanted command
	if err := json.Unmarshal(line, &wanted); err != nil {
		return err
	}
	if wanted.Version == "" {
		snapshots.ClearSnapshot(wanted.Node)
		out.tell(event{Event: "cleared", Node: wanted.Node})
		return nil
	}
	resources := make([]types.Resource, len(wanted.Resources))
	for i, text := range wanted.Resources {
		message := &config.RateLimitConfig{}
		if err := protojson.Unmarshal(text, message); err != nil {
			return err
		}
		resources[i] = message
	}
	snapshot, err := cache.NewSnapshot(wanted.Version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	if err != nil {
		return err
	}
	if err := snapshots.SetSnapshot(context.Background(), wanted.Node, snapshot); err != nil {
		return err
	}
	out.tell(event{Event: "published", Node: wanted.Node, Version: wanted.Version})
	return nil
}

func callbacks(out *teller) server.Callbacks {
	return server.CallbackFuncs{
		StreamOpenFunc: func(ctx context.Context, stream int64, _ string) error {
			headers, _ := metadata.FromIncomingContext(ctx)
			out.tell(event{Event: "opened", Stream: stream, Headers: headers})
			return nil
		},
		StreamClosedFunc: func(stream int64, _ *core.Node) {
			out.tell(event{Event: "closed", Stream: stream})
		},
		StreamRequestFunc: func(stream int64, request *discovery.DiscoveryRequest) error {
			told := event{Event: "asked", Stream: stream, Node: request.GetNode().GetId(), Version: request.GetVersionInfo(), Nonce: request.GetResponseNonce()}
			told.Metadata = request.GetNode().GetMetadata().AsMap()
			if detail := request.GetErrorDetail(); detail != nil {
				told.Code, told.Error = detail.GetCode(), detail.GetMessage()
			}
			out.tell(told)
			return nil
		},
		DeltaStreamOpenFunc: func(ctx context.Context, stream int64, _ string) error {
			headers, _ := metadata.FromIncomingContext(ctx)
			out.tell(event{Event: "opened", Delta: true, Stream: stream, Headers: headers})
			return nil
		},
		DeltaStreamClosedFunc: func(stream int64, _ *core.Node) {
			out.tell(event{Event: "closed", Delta: true, Stream: stream})
		},
		StreamDeltaRequestFunc: func(stream int64, request *discovery.DeltaDiscoveryRequest) error {
			told := event{Event: "asked", Delta: true, Stream: stream, Node: request.GetNode().GetId(), Nonce: request.GetResponseNonce()}
			told.Held = request.GetInitialResourceVersions()
			if detail := request.GetErrorDetail(); detail != nil {
				told.Code, told.Error = detail.GetCode(), detail.GetMessage()
			}
			out.tell(told)
			return nil
		},
		StreamDeltaResponseFunc: func(stream int64, _ *discovery.DeltaDiscoveryRequest, response *discovery.DeltaDiscoveryResponse) {
			told := event{Event: "sent", Delta: true, Stream: stream, Version: response.GetSystemVersionInfo(), Nonce: response.GetNonce()}
			for _, changed := range response.GetResources() {
				told.Changed = append(told.Changed, changed.GetName())
			}
			told.Removed = response.GetRemovedResources()
			out.tell(told)
		},
		StreamResponseFunc: func(_ context.Context, stream int64, _ *discovery.DiscoveryRequest, response *discovery.DiscoveryResponse) {
			out.tell(event{Event: "sent", Stream: stream, Version: response.GetVersionInfo(), Nonce: response.GetNonce()})
		},
	}
}
