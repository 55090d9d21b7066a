// The collection of users in MongoDB, by mongoose: its schema, its index, and a record as a
// document. Only this file knows mongoose.
import { type Connection, mongo, Mongoose, Schema, trusted } from "mongoose";
import type { UserChange, UserRecord } from "../user-store.ts";

/** Name of the collection. */
const COLLECTION = "users";

/** Name and definition of the index that keeps addresses unique. */
const EMAIL_INDEX = { name: "email_key_unique", key: { emailKey: 1 } } as const;

/** The server's code for a broken unique index. */
const DUPLICATE_KEY = 11_000;

/** The document of a user: the record, with its id as `_id`. */
type UserDocument = Omit<UserRecord, "id"> & { readonly _id: string };

const TEXT = { type: String, required: true } as const;
const OPTIONAL_TEXT = { type: String, default: null } as const;
const NUMBER = { type: Number, required: true } as const;

/**
 * What a failed call says about its operation: the server answered that a value is not unique, or
 * there is no usable answer. No other error of the driver says that nothing was sent: when the answer
 * to its first attempt is lost, it throws the error of the second, which may not reach any server.
 */
export type MongoFailure = { readonly kind: "duplicate"; readonly isEmail: boolean } | { readonly kind: "lost" };

/** Time limits, in milliseconds. */
export interface MongoTimeouts {
  /** Of the selection of a server and of a connection to it. */
  readonly connectMs: number;
  /** Of one answer of the server. */
  readonly socketMs: number;
}

/** The collection, on a connection of its own. */
export class UserCollection {
  readonly #connection: Connection;
  readonly #users: ReturnType<typeof compileModel>;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.#users = compileModel(connection);
  }

  /** Parses the URI without connecting; throws when that cannot succeed. The error may quote its password. */
  static checkUri(uri: string, timeouts: MongoTimeouts): void {
    new mongo.MongoClient(uri, driverOptions(timeouts));
  }

  /**
   * Connects, and rejects when no server answers. Credentials of the URI are not in the messages of
   * errors.
   */
  static async connect(uri: string, timeouts: MongoTimeouts): Promise<UserCollection> {
    const mongoose = new Mongoose();
    // A text of a request can never become an operator of a query, and a field without a place in
    // the schema is a fault.
    mongoose.set({ sanitizeFilter: true, strictQuery: "throw", strict: "throw" });
    const connection = mongoose.createConnection();
    try {
      await connection.openUri(uri, {
        ...driverOptions(timeouts),
        bufferCommands: false,
        autoIndex: false,
        autoCreate: false,
      });
    } catch (error) {
      await connection.close(true);
      throw error;
    }
    return new UserCollection(connection);
  }

  /** Ends the connections; calls in flight fail. */
  async close(): Promise<void> {
    await this.#connection.close(true);
  }

  /** Makes the collection and its unique index, unless they exist. */
  async createIndex(): Promise<void> {
    const { key, name } = EMAIL_INDEX;
    await this.#users.collection.createIndex(key, { name, unique: true }, {});
  }

  /** Throws unless the server answers and has the unique index; without it, two users could share an address. */
  async checkIndex(): Promise<void> {
    const indexes = await this.#users.collection.indexes();
    const isUnique = indexes.some(
      (index) => index.unique === true && JSON.stringify(index.key) === JSON.stringify(EMAIL_INDEX.key),
    );
    if (!isUnique)
      throw new Error(`the unique index ${EMAIL_INDEX.name} on emailKey of the collection ${COLLECTION} is missing`);
  }

  /** Adds a user. */
  async insert(user: UserRecord): Promise<void> {
    await this.#users.insertOne(toDocument(user));
  }

  /** The user with this id. With `isDurable`, as a majority of the servers has it. */
  async findById(id: string, { isDurable = false } = {}): Promise<UserRecord | undefined> {
    const query = this.#users.findOne({ _id: id }).lean<UserDocument>();
    return toRecord(await (isDurable ? query.readConcern("majority") : query));
  }

  /** The user with this key. */
  async findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    return toRecord(await this.#users.findOne({ emailKey }).lean<UserDocument>());
  }

  /** Changes a user that has the revision; false when there is none. */
  async update(id: string, revision: number, change: UserChange): Promise<boolean> {
    const result = await this.#users.updateOne({ _id: id, revision }, { $set: { ...change }, $inc: { revision: 1 } });
    return result.matchedCount === 1;
  }

  /** Removes a user; false when there was none. */
  async remove(id: string): Promise<boolean> {
    return (await this.#users.deleteOne({ _id: id })).deletedCount === 1;
  }

  /** The avatar keys of these users. */
  async findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const documents = await this.#users.find({ _id: trusted({ $in: [...userIds] }) }, { avatarKey: 1 }).lean();
    return new Set(documents.flatMap(({ avatarKey }) => avatarKey ?? []));
  }

  /** What the error of a call says. */
  classify(error: unknown): MongoFailure {
    if (error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY) {
      // Not every server sends the pattern.
      const where = JSON.stringify(error["keyPattern"] ?? error.message);
      return { kind: "duplicate", isEmail: where.includes("emailKey") };
    }
    return { kind: "lost" };
  }
}

function driverOptions({ connectMs, socketMs }: MongoTimeouts): mongo.MongoClientOptions {
  return {
    appName: "weir-account",
    maxPoolSize: 20,
    serverSelectionTimeoutMS: connectMs,
    connectTimeoutMS: connectMs,
    waitQueueTimeoutMS: connectMs,
    socketTimeoutMS: socketMs,
    heartbeatFrequencyMS: connectMs,
    // A write that was acknowledged survives the loss of any one server.
    writeConcern: { w: "majority", journal: true },
    readPreference: "primary",
  };
}

function compileModel(connection: Connection) {
  const schema = new Schema<UserDocument>(
    {
      _id: TEXT,
      email: TEXT,
      emailKey: TEXT,
      name: OPTIONAL_TEXT,
      passwordHash: TEXT,
      avatar: OPTIONAL_TEXT,
      avatarKey: OPTIONAL_TEXT,
      refreshToken: OPTIONAL_TEXT,
      // As they are: sessions/session-records.ts says what is in them.
      sessions: { type: [Schema.Types.Mixed], required: true },
      revision: NUMBER,
      createdAtMs: NUMBER,
      updatedAtMs: NUMBER,
    },
    { strict: "throw", strictQuery: "throw", versionKey: false, minimize: false, id: false },
  );
  return connection.model("User", schema, COLLECTION);
}

function toDocument({ id, ...fields }: UserRecord): UserDocument {
  return { _id: id, ...fields };
}

function toRecord(document: UserDocument | null): UserRecord | undefined {
  if (document === null) return undefined;
  const { _id: id, ...fields } = document;
  return { id, ...fields };
}
