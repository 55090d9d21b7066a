// Images in a bucket of S3, or of a server that speaks its protocol. The bucket, or what is in front
// of it, serves them.
import type {
  DeleteObjectCommandInput,
  ListObjectsV2CommandInput,
  PutObjectCommandInput,
  S3Client,
} from "@aws-sdk/client-s3";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { maskCredentials, type Secret } from "@weir/common/settings/secret";
import { describeError } from "@weir/common/errors/service-error";
import type { CleanImage } from "../image.ts";
import {
  checkMediaKey,
  MEDIA_KEY,
  MEDIA_PREFIX,
  mediaHeaders,
  type MediaStore,
  mediaUnavailable,
  type StoredMedia,
} from "../media-store.ts";

/** Longest call, with its second attempt, in milliseconds. */
const CALL_TIMEOUT_MS = 4000;

/** Longest attempt, in milliseconds: two of them and the pause between fit into a call. */
const ATTEMPT_TIMEOUT_MS = 1800;

/** Longest connect, in milliseconds. */
const CONNECT_TIMEOUT_MS = 500;

const ATTEMPTS_MAX = 2;

/** The options of the store. */
export interface S3MediaOptions {
  /** URL of the server; undefined for S3 itself. */
  readonly endpoint: string | undefined;
  readonly bucket: string;
  readonly region: string;
  /** Undefined: the default chain of the AWS SDK, such as a role of the pod. */
  readonly credentials: { readonly accessKeyId: Secret; readonly secretAccessKey: Secret } | undefined;
  /** URL in front of keys, ending in a slash. */
  readonly publicUrl: string;
}

/** The SDK, loaded only by services that use it: that takes a third of a second. */
type Sdk = typeof import("@aws-sdk/client-s3");

/** The store after its start. */
interface Loaded {
  readonly sdk: Sdk;
  readonly client: S3Client;
}

/** A media store on a bucket. */
export class S3MediaStore implements MediaStore, Part {
  readonly name = "media store";
  readonly #options: S3MediaOptions;
  readonly #log: Log;
  #loaded: Loaded | undefined;

  constructor({ log }: { readonly log: Log }, options: S3MediaOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** Loads the SDK. Does not wait for the bucket: without it only registrations fail. */
  async start(): Promise<void> {
    const sdk = await import("@aws-sdk/client-s3");
    const { endpoint, region, credentials } = this.#options;
    const client = new sdk.S3Client({
      region,
      ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      ...(credentials !== undefined && {
        credentials: {
          accessKeyId: credentials.accessKeyId.reveal(),
          secretAccessKey: credentials.secretAccessKey.reveal(),
        },
      }),
      maxAttempts: ATTEMPTS_MAX,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: ATTEMPT_TIMEOUT_MS,
        throwOnRequestTimeout: true,
      },
      // The checksum headers of the default are refused by several compatible servers
      // (https://github.com/aws/aws-sdk-js-v3/issues/6819).
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    });
    this.#loaded = { sdk, client };
    void this.#checkBucket(sdk, client);
  }

  /** Closes its connections. */
  stop(): void {
    this.#loaded?.client.destroy();
  }

  async put(key: string, image: CleanImage): Promise<void> {
    const { contentType, contentDisposition, cacheControl } = mediaHeaders(image.format);
    const input: PutObjectCommandInput = {
      ...this.#object(key),
      Body: image.bytes, // A buffer can be sent again by the second attempt, a stream cannot.
      ContentLength: image.bytes.length,
      ContentType: contentType,
      ContentDisposition: contentDisposition,
      CacheControl: cacheControl,
    };
    try {
      checkMediaKey(key);
      const { sdk, client } = this.#use();
      await client.send(new sdk.PutObjectCommand(input), callLimits());
    } catch (cause) {
      throw mediaUnavailable("The avatar could not be stored. Try again later.", cause);
    }
  }

  url(key: string): string {
    return this.#options.publicUrl + key;
  }

  async remove(key: string): Promise<void> {
    const input: DeleteObjectCommandInput = this.#object(key);
    try {
      checkMediaKey(key);
      const { sdk, client } = this.#use();
      await client.send(new sdk.DeleteObjectCommand(input), callLimits());
    } catch (cause) {
      throw mediaUnavailable("The avatar could not be removed. Try again later.", cause);
    }
  }

  async *list(): AsyncGenerator<StoredMedia> {
    const input: ListObjectsV2CommandInput = { Bucket: this.#options.bucket, Prefix: MEDIA_PREFIX };
    try {
      const { sdk, client } = this.#use();
      for (;;) {
        const page = await client.send(new sdk.ListObjectsV2Command(input), callLimits());
        for (const { Key: key, LastModified: modified } of page.Contents ?? []) {
          if (key !== undefined && modified !== undefined && MEDIA_KEY.test(key))
            yield { key, modifiedAtMs: modified.getTime() };
        }
        if (page.NextContinuationToken === undefined) return;
        input.ContinuationToken = page.NextContinuationToken;
      }
    } catch (cause) {
      throw mediaUnavailable("The images cannot be listed.", cause);
    }
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: key };
  }

  #use(): Loaded {
    if (this.#loaded === undefined) throw new TypeError("Cannot use the media store: it is not started");
    return this.#loaded;
  }

  /** Reports at the start what would otherwise be found by the first registration. */
  async #checkBucket(sdk: Sdk, client: S3Client): Promise<void> {
    const { bucket } = this.#options;
    try {
      await client.send(new sdk.HeadBucketCommand({ Bucket: bucket }), callLimits());
      this.#log.debug("Reached the media store", { bucket });
    } catch (error) {
      const reason = maskCredentials(describeError(error));
      this.#log.warn("Cannot reach the media store, registrations with an avatar fail", { bucket, reason });
    }
  }
}

function callLimits(): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(CALL_TIMEOUT_MS) };
}
