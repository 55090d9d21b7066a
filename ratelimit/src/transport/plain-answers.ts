// Plain HTTP answers that several listeners share.
import type { ServerResponse } from "node:http";

import { respondText } from "@weir/common/admin/admin-server";

import type { Health } from "../health/health.ts";

/** 200 with OK, or 500 when unhealthy. */
export function respondHealth(response: ServerResponse, health: Health): void {
  if (health.isHealthy()) respondText(response, 200, "OK");
  else respondText(response, 500, "");
}
