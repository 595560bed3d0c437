/** A scan whose verdict comes from a service: pushed text stays undecided until the service has answered for it. */
import type { Found, Scan } from "@sluice/proto/lib/pattern/finder.js";

export interface ServiceScan extends Scan {
  /**
   * Calls the service once enough text has been pushed.
   * @param over whether the text is complete: this call then decides all of it, and must come before `end`
   * @throws DetectorUnavailable; Fault when the turn is over
   */
  scanByService(over: boolean): Promise<Found>;
}

export const isServiceScan = (scan: Scan): scan is ServiceScan => "scanByService" in scan;
