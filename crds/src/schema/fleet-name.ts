// Names of fleets: Kubernetes label values, so that a fleet can be selected by a label.
import * as z from "zod";

const FLEET_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Longest name of a fleet, in characters. */
export const FLEET_NAME_LENGTH_MAX = 63;

const FLEET_NAME_MESSAGE =
  'must consist of letters, digits, "-", "_" and ".", and begin and end with a letter or digit';

/** The rule for names, for descriptions. */
export const FLEET_NAME_RULE = `Each name has at most ${FLEET_NAME_LENGTH_MAX} letters, digits, "-", "_" and ".", and begins and ends with a letter or digit.`;

/** The name of a fleet. The configuration of pods of no named fleet shows as "*", which is no name. */
export function fleetName(): z.ZodString {
  return z.string().min(1, { abort: true }).max(FLEET_NAME_LENGTH_MAX).regex(FLEET_NAME, FLEET_NAME_MESSAGE);
}
