/** The reference within the console: operations are tried with the person's session. */
import { apiBase } from "../api/client.ts";
import { playgroundKey } from "../api/playground-key.ts";
import type { Caller } from "./caller.ts";
import { ReferencePage } from "./page.tsx";

const caller: Caller = {
  baseFor: ({ manages }) => (manages ? apiBase : "/api/v1"),
  authorize: async ({ manages }) => (manages ? undefined : `Bearer ${(await playgroundKey()).secret}`),
  explain: ({ manages, method }) =>
    manages
      ? `Runs with the rights of your session${method === "GET" ? "" : ", and changes what it says it changes"}.`
      : "Runs with a key that lives for an hour and may spend a dollar.",
};

export const ConsoleReference = () => <ReferencePage root="/console/reference" caller={caller} />;
