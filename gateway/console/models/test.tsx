/** Sends a provider a short prompt, to check whether it answers. */
import { useState } from "preact/hooks";
import { api, unwrapAnswer } from "../api/client.ts";
import { showToast } from "../parts/toast.tsx";
import { formatMilliseconds } from "../parts/words.ts";

export function TestButton({ id, name }: { id: string; name: string }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const test = async () => {
    setBusy(true);
    setProblem("");
    try {
      const { data } = await unwrapAnswer(api.POST("/providers/{id}/test", { params: { path: { id } }, body: {} }));
      if (data.ok) showToast(`${name} answers: ${data.model} in ${formatMilliseconds(data.latency_ms)}`);
      else setProblem(data.cause?.message ?? "It did not answer.");
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class="button small"
        aria-label={`Test ${name}`}
        disabled={busy}
        onClick={() => void test()}
      >
        {busy ? "Testing…" : "Test"}
      </button>
      {problem !== "" && (
        <span class="sub problem" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
