// The error of a counter backend. Whatever a backend's library throws becomes one of these in the
// file that talks to the library.
import { ServiceError } from "@weir/common/errors/service-error";
import type { StoreErrorCode } from "../errors.ts";

/**
 * Why increments have no result. The increments may or may not have happened; nobody sends them
 * again.
 */
export class StoreError extends ServiceError<StoreErrorCode> {}
