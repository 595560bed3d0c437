/** The extent of a simulation. */
export interface Size {
  readonly replicas: number;
  readonly keys: number;
  /** Requests a second of all replicas together, when providers fail. */
  readonly requestsPerSecond: number;
  /** Simulated seconds after an outage. */
  readonly afterS: number;
  /** Requests a second of all replicas together, when keys are read. Of these replicas, one is simulated. */
  readonly readRequestsPerSecond: number;
  /** Seconds for filling the caches. */
  readonly fillS: number;
}
