/** Detects dead connections by unanswered PINGs: a machine that fails does not close its connections. */
import type { Http2Session } from "node:http2";

const everyMs = 10_000;
const withinMs = 5_000;

/** Closes the connection when a PING is not answered, or when the connection is never established. */
export function keepAlive(session: Http2Session): void {
  let isAnswered = true;
  let late: NodeJS.Timeout | undefined;
  const judge = () => {
    if (!isAnswered && !session.destroyed) session.destroy(new Error(`no answer to a PING within ${withinMs} ms`));
  };
  const timer = setInterval(() => {
    if (session.destroyed) return;
    isAnswered = false;
    session.ping((error) => (isAnswered ||= !error));
    // Delayed, so after a pause of the whole process an answer that has arrived is read first.
    late = setTimeout(() => setImmediate(judge), withinMs).unref();
  }, everyMs).unref();
  session.once("close", () => {
    clearInterval(timer);
    clearTimeout(late);
  });
}
