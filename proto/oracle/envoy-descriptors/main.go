// Prints the published descriptors of the messages that this workspace speaks, as one FileDescriptorSet: the judge of the compatibility test.
// It is run by a test only, and is no part of any program.
package main

import (
	"fmt"
	"os"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	rlsconf "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	rlsconfds "github.com/envoyproxy/go-control-plane/ratelimit/service/ratelimit/v3"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The files whose content is judged; what they import comes along.
var roots = []protoreflect.FileDescriptor{
	ratelimit.File_envoy_service_ratelimit_v3_rls_proto,
	discovery.File_envoy_service_discovery_v3_ads_proto,
	rlsconf.File_ratelimit_config_ratelimit_v3_rls_conf_proto,
	rlsconfds.File_ratelimit_service_ratelimit_v3_rls_conf_ds_proto,
	health.File_grpc_health_v1_health_proto,
	reflection.File_grpc_reflection_v1_reflection_proto,
	reflectionalpha.File_grpc_reflection_v1alpha_reflection_proto,
}

func main() {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	for _, root := range roots {
		collect(root, seen, set)
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err == nil {
		_, err = os.Stdout.Write(bytes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle: cannot write the descriptors:", err)
		os.Exit(1)
	}
}

// Appends a file after everything that it imports.
func collect(file protoreflect.FileDescriptor, seen map[string]bool, set *descriptorpb.FileDescriptorSet) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		collect(imports.Get(i).FileDescriptor, seen, set)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
}
