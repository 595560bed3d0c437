/** States of a list or page: loading, empty, failed. */
import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/load.ts";
import { Icon } from "./icon.tsx";

export const Skeleton = ({ lines = 4 }: { lines?: number }) => (
  <div class="skeleton" role="status">
    <span class="unseen">Loading</span>
    {Array.from({ length: lines }, (_, line) => (
      <i key={line} />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);

export const Failure = ({ error, retry }: { error: Error; retry?: () => unknown }) => (
  <div class="note note-danger" role="alert">
    <Icon name="warning" />
    <span>{error.message}</span>
    {retry && (
      <button type="button" class="button small" onClick={() => void retry()}>
        Try again
      </button>
    )}
  </div>
);

interface ShowProps<Data> {
  readonly of: Loaded<Data>;
  readonly lines?: number;
  readonly children: (data: Data) => ComponentChildren;
}

/** Shows data once it is loaded. If loading again fails, the error appears above the earlier data. */
export function Show<Data>({ of: { data, error, reload }, lines, children }: ShowProps<Data>) {
  return (
    <>
      {error && <Failure error={error} retry={reload} />}
      {data === undefined ? !error && <Skeleton {...(lines !== undefined && { lines })} /> : children(data)}
    </>
  );
}
