import type { Client, Schemas } from "./client.js";
/** A card as the API has it; variant and condition of its prices are codes, and changes may be null. */
export type MirrorCard = Omit<Schemas["CardDetail"], "ref">;
/**
 * A folder with all cards, prices and sets of one snapshot. One process at a time may `sync` it.
 *
 * The first copy comes from the bulk files where the plan has them and zstd can be read here: by Node 22.15,
 * or by the program `zstd`. Otherwise it is a walk through the catalog, in some 900 requests, and `madeBy`
 * says so. A later day takes up to seven requests. All is held in memory, about 1 kB a card.
 */
export declare class Mirror {
    private readonly client;
    private readonly folder;
    private state;
    private records;
    private constructor();
    /** Opens the folder, which is made if there is none. */
    static open(client: Client, folder: string): Promise<Mirror>;
    /** The snapshot that the mirror is complete for, or undefined before the first copy. */
    get snapshotId(): string | undefined;
    /** `bulk` or `walk`: where the last whole copy came from. */
    get madeBy(): string | undefined;
    /** A card with its prices, or undefined if there is no such card. */
    card(id: string): MirrorCard | undefined;
    /** The current prices of a card. */
    prices(id: string): Schemas["VariantPrice"][];
    /** A set, or undefined if there is no such set. */
    set(id: string): Schemas["SetSummary"] | undefined;
    /** All cards, by id. */
    cards(): Generator<MirrorCard, void, void>;
    /** All sets, by id. */
    sets(): Generator<Schemas["SetSummary"], void, void>;
    /**
     * Brings the mirror up to the served snapshot, and returns whether anything was new.
     * What stands in the folder is always whole: of the old snapshot or of the new one.
     */
    sync(): Promise<boolean>;
    /** The list of files once they are made, or undefined where the plan or the server has none. */
    private listed;
    /** Downloads cards and sets, and puts them in the place of what was there. */
    private take;
    /** Gets the rest of one file, behind what an earlier run got of it. Only tries that come no further count. */
    private download;
    private rest;
    /**
     * Takes ids by a walk, cards in batches, and then what changed since the walk began. A row of what
     * changed is as it is now, so that it does not matter between which publications a batch was answered.
     */
    private walk;
    /** Applies what changed of all three kinds since a snapshot, up to one that the first kind names. */
    private follow;
    private changePrices;
    /** Writes the files, and last the state that names them; then removes what it does not name. */
    private store;
}
/** Whether this Node, or a program beside it, reads zstd. */
export declare function zstdReadable(): Promise<boolean>;
