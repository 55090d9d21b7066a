// A client of the incremental method made of go-control-plane's generated stub: what the tests of the control plane talk to it with. It takes commands as
// lines of JSON on standard input, writes what it receives and holds as lines of JSON on standard output, and ends when its input does. It is run by tests
// only, and is no part of any program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A response and what the client holds after its answer: versions by name, and limits of first rules.
type event struct {
	Version string            `json:"version"`
	Changed []string          `json:"changed"`
	Removed []string          `json:"removed"`
	Held    map[string]string `json:"held"`
	Limits  map[string]uint32 `json:"limits"`
	Error   string            `json:"error,omitempty"`
}

func main() {
	address := flag.String("address", "", "host and port of the control plane")
	node := flag.String("node", "default", "its node id")
	flag.Parse()
	connection, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := discovery.NewAggregatedDiscoveryServiceClient(connection)
	held, limits := map[string]string{}, map[string]uint32{}
	// Each line is the prefix of names that this stream NACKs, or empty; it begins a new stream with what is held.
	lines := bufio.NewScanner(os.Stdin)
	cancel, done := context.CancelFunc(func() {}), make(chan struct{})
	close(done)
	for lines.Scan() {
		cancel()
		<-done
		var stream context.Context
		stream, cancel = context.WithCancel(context.Background())
		done = make(chan struct{})
		go follow(stream, client, *node, lines.Text(), held, limits, done)
	}
}

func follow(ctx context.Context, client discovery.AggregatedDiscoveryServiceClient, node, rejected string, held map[string]string, limits map[string]uint32, done chan struct{}) {
	defer close(done)
	stream, err := client.DeltaAggregatedResources(ctx)
	if err != nil {
		log.Fatal(err)
	}
	request := &discovery.DeltaDiscoveryRequest{Node: &core.Node{Id: node}, TypeUrl: resource.RateLimitConfigType, InitialResourceVersions: held}
	for {
		if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
			log.Fatal(err)
		}
		response, err := stream.Recv()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		told := event{Version: response.GetSystemVersionInfo(), Removed: response.GetRemovedResources()}
		request = &discovery.DeltaDiscoveryRequest{TypeUrl: resource.RateLimitConfigType, ResponseNonce: response.GetNonce()}
		for _, changed := range response.GetResources() {
			told.Changed = append(told.Changed, changed.GetName())
			if rejected != "" && strings.HasPrefix(changed.GetName(), rejected) {
				told.Error = changed.GetName() + ": not accepted"
				request.ErrorDetail = &status.Status{Code: 3, Message: told.Error}
			}
		}
		if told.Error == "" {
			keep(response, held, limits)
		}
		told.Held, told.Limits = held, limits
		if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
			log.Fatal(err)
		}
	}
}

func keep(response *discovery.DeltaDiscoveryResponse, held map[string]string, limits map[string]uint32) {
	for _, name := range response.GetRemovedResources() {
		delete(held, name)
		delete(limits, name)
	}
	for _, changed := range response.GetResources() {
		message := &config.RateLimitConfig{}
		if err := changed.GetResource().UnmarshalTo(message); err != nil {
			log.Fatal(err)
		}
		held[changed.GetName()] = changed.GetVersion()
		limits[changed.GetName()] = message.GetDescriptors()[0].GetRateLimit().GetRequestsPerUnit()
	}
}
