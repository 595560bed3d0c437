/** Finds dead connections by unanswered PINGs: a peer whose machine failed does not close them. */
import type { Http2Session } from "node:http2";

const everyMs = 10_000;
const withinMs = 5_000;

/** Destroys the connection when a PING gets no answer, or when the connection is never established. */
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
    // After a pause of the whole process, the answer is read first.
    late = setTimeout(() => setImmediate(judge), withinMs).unref();
  }, everyMs).unref();
  session.once("close", () => {
    clearInterval(timer);
    clearTimeout(late);
  });
}
