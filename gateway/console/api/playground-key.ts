/** The playground's key: created on demand, valid for an hour and a dollar, and only in this page's memory. */
import { api, unwrapAnswer } from "./client.ts";
import { beforeSignOut, session } from "./session.ts";

const lifeMs = 3_600_000;
const limit = 1;

interface PlaygroundKey {
  readonly hash: string;
  readonly secret: string;
  readonly expires: number;
}

let current: PlaygroundKey | undefined;

/** @returns a key valid for at least another minute, created if necessary @throws ApiError */
export async function playgroundKey(): Promise<PlaygroundKey> {
  if (current && current.expires - Date.now() > 60_000) return current;
  const expires = Date.now() + lifeMs;
  const body = {
    name: `playground of ${session.peek()?.person ?? session.peek()?.key.name ?? "the console"}`.slice(0, 200),
    limit,
    expires_at: new Date(expires).toISOString(),
  };
  const { data, key: secret } = await unwrapAnswer(api.POST("/keys", { body }));
  return (current = { hash: data.hash, secret, expires });
}

/** Revokes the key, if one exists. */
async function dropPlaygroundKey(): Promise<void> {
  const dropped = current;
  current = undefined;
  if (dropped)
    await unwrapAnswer(api.DELETE("/keys/{hash}", { params: { path: { hash: dropped.hash } } })).catch(() => {});
}

beforeSignOut(dropPlaygroundKey);
