// Asks a control plane for its rollout, as curl does. Only tests import it.
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { GetRolloutResponseSchema, type Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

/** The rollout that the listener for HTTP on this port of 127.0.0.1 answers with. */
export async function askRollout(port: number): Promise<Rollout> {
  const answer = await fetch(`http://127.0.0.1:${port}/weir.rollout.v1.RolloutService/GetRollout`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  const { rollout } = fromJson(GetRolloutResponseSchema, (await answer.json()) as JsonValue);
  if (rollout === undefined) throw new Error("The answer has no rollout");
  return rollout;
}
