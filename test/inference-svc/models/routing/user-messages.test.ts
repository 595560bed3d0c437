/** The text that routers take for the user's last question. */
import { describe, expect, test } from "@jest/globals";
import { guessTaskLocally } from "@sluice/inference-svc/features/routers/auto/tasks/local.js";
import { estimateDifficulty } from "@sluice/inference-svc/models/routing/choose/difficulty.js";
import { findLastUserRequest } from "@sluice/inference-svc/models/routing/choose/user-messages.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { findMinCpuMs, measureCpuMs } from "../../../support/clock.ts";
import { testRequest } from "../../asking.ts";

const user = (content: unknown): InputItem => ({ type: "message", role: "user", content });
const answer: InputItem = { type: "message", role: "assistant", content: "Done." };
const note = "<system-reminder>\nThe todo list is empty. Do not mention it.\n</system-reminder>";
const bug =
  "Prove that the lock-free queue in src/queue.rs cannot deadlock, and fix the race condition that loses a job.";

describe("the user's last request in a conversation", () => {
  test.each<[string, readonly InputItem[], string]>([
    ["is the last message", [user("Hello"), answer, user(bug)], bug],
    ["stands before a message that only lets the task go on", [user(bug), answer, user("Go on!")], bug],
    ["stands before several of them, in any language", [user(bug), user("ja, bitte"), user("继续"), user("OK.")], bug],
    ["stands before notes that a program sent", [user(bug), answer, user(note)], bug],
    [
      "has no notes",
      [
        user([
          { type: "input_text", text: note },
          { type: "input_text", text: bug },
        ]),
      ],
      bug,
    ],
    ["keeps what stands between notes", [user(`${note}\n${bug}\n<user_memory>x</user_memory>`)], bug],
    ["keeps markup", [user("<p>Is this <b>right</b>?</p>")], "<p>Is this <b>right</b>?</p>"],
    ["keeps a note without an end", [user("What is <data-table> for?")], "What is <data-table> for?"],
    ["is the last message where none asks for anything", [user("ok"), answer, user("go on")], "go on"],
    ["is empty in an empty conversation", [], ""],
  ])("is found %s", (_, input, text) => {
    expect(findLastUserRequest(input).text).toBe(text);
  });

  test("decides the guessed task and its difficulty, with any text after it", () => {
    const alone = testRequest({ input: [user(bug)] });
    for (const later of [user("go on"), user(note)]) {
      const request = testRequest({ input: [user(bug), answer, later] });
      expect(guessTaskLocally(request).task).toBe(guessTaskLocally(alone).task);
      expect(estimateDifficulty(request)).toEqual(estimateDifficulty(alone));
    }
  });

  test.each(["<a-b>", "<a-b></a-b>", "<a-b>x</a-", "<", "go on "])(
    "is found at once in a text of many times %j",
    async (piece) => {
      const input = [user(piece.repeat(100_000))];
      expect(await findMinCpuMs(60, () => measureCpuMs(() => findLastUserRequest(input)))).toBeLessThan(60);
    },
  );
});
