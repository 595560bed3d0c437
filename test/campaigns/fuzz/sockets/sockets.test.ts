/** Some hundred random requests over real sockets. More of them: npm run fuzz -- sockets. */
import { expect, test } from "@jest/globals";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { socketCampaign } from "./campaign.ts";

test("random bodies over sockets are answered as documented", async () => {
  const { statuses, complaints } = await socketCampaign({ seed: fixedSeed, count: 400 });
  expect(complaints).toEqual([]);
  for (const path of ["/responses", "/chat/completions", "/messages", "/messages/count_tokens", "/responses/compact"])
    for (const status of [200, 400])
      expect([path, status, statuses.get(`${path} ${status}`)]).toEqual([path, status, expect.any(Number)]);
}, 600_000);
