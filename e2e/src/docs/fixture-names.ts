// The fixtures that code blocks of pages may name.

/** Each is started by `fixtures.ts`, and explained in docs/development.md. */
export const FIXTURE_NAMES = ["shell", "stack", "api-server", "cluster"] as const;

/** One of them. */
export type FixtureName = (typeof FIXTURE_NAMES)[number];
