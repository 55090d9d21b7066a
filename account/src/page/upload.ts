// Sends forms so that their progress is known, which `fetch` does not report.

/** Takes the share of an upload that is sent, from 0 to 1. */
export type ProgressListener = (share: number) => void;

/** The uploads of a page. One form at a time sends a file. */
export class Uploads {
  /** The listener of the upload that runs. */
  onProgress: ProgressListener | undefined;

  /** As `fetch`, for the client. */
  readonly fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { body, signal } = init;
    if (!(body instanceof FormData)) return fetch(url, init);
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const stop = (): void => request.abort();
      request.open(init.method ?? "POST", url);
      request.upload.onprogress = ({ loaded, total }) => this.onProgress?.(total === 0 ? 1 : loaded / total);
      request.onload = () => {
        const headers = { "Retry-After": request.getResponseHeader("Retry-After") ?? "" };
        resolve(new Response(request.responseText, { status: request.status, headers }));
      };
      request.onerror = () => reject(new TypeError("Failed to fetch"));
      request.onabort = () => reject(signal?.reason as Error);
      request.onloadend = () => signal?.removeEventListener("abort", stop);
      signal?.addEventListener("abort", stop);
      request.send(body);
    });
  };
}
