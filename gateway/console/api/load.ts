/** Data of a page: loading, loaded, or failed. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<Data> {
  /** The latest answer; it stays while the next is loading. */
  readonly data: Data | undefined;
  readonly error: Error | undefined;
  readonly loading: boolean;
  /** Loads the data again. The promise resolves after a failure, too. */
  readonly reload: () => Promise<void>;
}

/** Loads the data of a page. @param inputs values with which `load` works; a change of one of them loads again */
export function useLoad<Data>(load: () => Promise<Data>, inputs: readonly unknown[] = []): Loaded<Data> {
  const [state, setState] = useState<{ data?: Data; error?: Error; loading: boolean }>({ loading: true });
  const latest = useRef(0);
  const reload = useCallback(async () => {
    const number = ++latest.current;
    setState(({ data }) => ({ ...(data !== undefined && { data }), loading: true }));
    try {
      const data = await load();
      if (number === latest.current) setState({ data, loading: false });
    } catch (error) {
      if (number === latest.current) {
        setState(({ data }) => ({ ...(data !== undefined && { data }), error: error as Error, loading: false }));
      }
    }
  }, inputs);
  useEffect(() => {
    void reload();
    return () => void latest.current++;
  }, [reload]);
  return { data: state.data, error: state.error, loading: state.loading, reload };
}
