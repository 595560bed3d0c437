/** States of a key, as shown by the command line and the console. */
import type { Tone } from "./words.ts";

const states = { active: "good", disabled: "warn", expired: "warn", revoked: "danger" } as const satisfies Readonly<
  Record<string, Tone>
>;

export interface KeyState {
  readonly word: keyof typeof states;
  readonly tone: Tone;
}

interface KeyFacts {
  readonly isRevoked?: boolean;
  readonly disabled: boolean;
  readonly expiresAt: Date | null;
}

/** The state of a key. If it would be refused for several reasons, the reason that is hardest to undo decides. */
export function keyState({ isRevoked = false, disabled, expiresAt }: KeyFacts, now = Date.now()): KeyState {
  const isExpired = expiresAt !== null && expiresAt.getTime() <= now;
  const word = isRevoked ? "revoked" : disabled ? "disabled" : isExpired ? "expired" : "active";
  return { word, tone: states[word] };
}
