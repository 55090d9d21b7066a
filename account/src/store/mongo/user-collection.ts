// The collection of users in MongoDB, by mongoose: its schema, its index, and a record as a
// document. Only this file and mongo-failure.ts know mongoose.
import { isDeepStrictEqual } from "node:util";
import { type Connection, mongo, Mongoose, Schema, trusted } from "mongoose";
import type { MediaIntent, UserChange, UserRecord } from "../user-store.ts";
import { classifyError, type MongoFailure } from "./mongo-failure.ts";

/** Name of the collection. */
const COLLECTION = "users";

/** Name of the collection of intents, whose documents have the key as `_id`. */
const INTENTS_COLLECTION = "mediaIntents";

/** Most intents that are read at a time. */
const INTENTS_MAX = 500;

/** Name and definition of the index that keeps addresses unique. */
const EMAIL_INDEX = { name: "email_key_unique", key: { emailKey: 1 } } as const;

/** Longest time to look for users that share an address, in milliseconds: it reads all of them. */
const DUPLICATES_TIMEOUT_MS = 600_000;

/** The document of a user: the record, with its id as `_id`. */
type UserDocument = Omit<UserRecord, "id"> & { readonly _id: string };

type IntentDocument = Omit<MediaIntent, "key"> & { readonly _id: string };

const TEXT = { type: String, required: true } as const;
const OPTIONAL_TEXT = { type: String, default: null } as const;
const NUMBER = { type: Number, required: true } as const;

/** Time limits, in milliseconds. */
export interface MongoTimeouts {
  /** Of the selection of a server and of a connection to it. */
  readonly connectMs: number;
  /** Of one answer of the server. */
  readonly socketMs: number;
}

/** The collection, on a connection of its own. */
export class UserCollection {
  /** Classifies the error of a call. */
  readonly classify: (error: unknown) => MongoFailure = classifyError;
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

  /** Connects, and rejects when no server answers. */
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

  /**
   * Makes the collection and its unique index, unless they exist; resolves when the index is complete.
   * Without `timeoutMs`, that of any answer applies.
   */
  async makeIndex(timeoutMs?: number): Promise<void> {
    const { collection } = this.#users;
    const { key } = EMAIL_INDEX;
    const timeout = timeoutMs === undefined ? {} : { timeoutMS: timeoutMs };
    try {
      await collection.createIndex(key, { name: EMAIL_INDEX.name, unique: true }, timeout);
    } catch (error) {
      if (!(error instanceof mongo.MongoServerError)) throw error;
      // Operators make it with the name that the shell gives it. A list also has unfinished indexes.
      const other = (await collection.indexes()).find((each) => each.unique && isDeepStrictEqual(each.key, key));
      if (other?.name === undefined) throw error;
      await collection.createIndex(key, { name: other.name, unique: true }, timeout);
    }
  }

  /** The users that share an address, together; of at most `addressesMax` addresses. */
  async findDuplicates(addressesMax: number): Promise<readonly (readonly UserRecord[])[]> {
    const pipeline = [
      { $group: { _id: "$emailKey", ids: { $push: "$_id" }, users: { $sum: 1 } } },
      { $match: { users: { $gt: 1 } } },
      { $limit: addressesMax },
    ];
    const options = { allowDiskUse: true, timeoutMS: DUPLICATES_TIMEOUT_MS };
    const groups = await this.#users.aggregate<{ readonly ids: readonly string[] }>(pipeline).option(options);
    const filter = { _id: trusted({ $in: groups.flatMap(({ ids }) => ids) }) };
    const users = (await this.#users.find(filter).lean<UserDocument[]>()).map(toRecord);
    return groups.map(({ ids }) => users.filter(({ id }) => ids.includes(id)));
  }

  /** Adds a user. */
  async insert(user: UserRecord): Promise<void> {
    await this.#users.insertOne(toDocument(user));
  }

  /** The user with this id. With `isDurable`, as a majority of the servers has it. */
  async findById(id: string, { isDurable = false } = {}): Promise<UserRecord | undefined> {
    const query = this.#users.findOne({ _id: id }).lean<UserDocument>();
    const document = await (isDurable ? query.readConcern("majority") : query);
    return document === null ? undefined : toRecord(document);
  }

  async findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    const document = await this.#users.findOne({ emailKey }).lean<UserDocument>();
    return document === null ? undefined : toRecord(document);
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

  /** The avatar keys that the records of these users name, as a majority of the servers has them. */
  async findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const users = this.#users.find({ _id: trusted({ $in: [...userIds] }) }, { avatarKey: 1 });
    const documents = await users.readConcern("majority").lean();
    return new Set(documents.flatMap(({ avatarKey }) => avatarKey ?? []));
  }

  /** Adds or replaces an intent. */
  async addIntent({ key, ...fields }: MediaIntent): Promise<void> {
    await this.#intents.replaceOne({ _id: key }, fields, { upsert: true });
  }

  /** Intents of these users, or the oldest up to a time. */
  async findIntents(
    of: { readonly userIds: readonly string[] } | { readonly createdMaxMs: number },
  ): Promise<readonly MediaIntent[]> {
    const found =
      "userIds" in of
        ? this.#intents.find({ userId: { $in: [...of.userIds] } })
        : this.#intents
            .find({ createdAtMs: { $lte: of.createdMaxMs } })
            .sort({ createdAtMs: 1 })
            .limit(INTENTS_MAX);
    return (await found.toArray()).map(({ _id: key, ...fields }) => ({ key, ...fields }));
  }

  async removeIntents(keys: readonly string[]): Promise<void> {
    await this.#intents.deleteMany({ _id: { $in: [...keys] } });
  }

  get #intents() {
    return this.#connection.collection<IntentDocument>(INTENTS_COLLECTION);
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
      emailVerifiedAtMs: { type: Number, default: null },
      mailTokens: { type: [Schema.Types.Mixed], default: [] },
      lockedAtMs: { type: Number, default: null },
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

/** Fields that documents of earlier releases lack. */
const ADDED = { emailVerifiedAtMs: null, mailTokens: [], lockedAtMs: null };

function toRecord({ _id: id, ...fields }: Omit<UserDocument, keyof typeof ADDED> & Partial<UserDocument>): UserRecord {
  return { id, ...ADDED, ...fields };
}
