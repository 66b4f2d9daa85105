/** What a fact is worth in the log, and what it says to an operator; the fact's fields follow it. */
import type { Fact } from './fact.ts'

/** `debug` is for each block and each request, `trace` for each call. */
export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export const SENTENCES = {
  // Ingest
  resumed: ['info', 'the listener goes on from here'],
  'head-seen': ['trace', 'an endpoint has told its newest block'],
  'range-appended': ['debug', 'a range of final blocks is in the log'],
  'block-appended': ['debug', 'a block is in the log'],
  reorg: ['info', 'the chain has replaced its newest blocks; they are read anew'],
  'range-split': ['debug', 'an endpoint refuses so many blocks or logs at once; it is asked for fewer'],
  'rpc-called': ['trace', 'an endpoint was asked'],
  'rpc-erred': ['trace', 'an endpoint did not do what it was asked'],
  'rpc-failed': ['warn', 'a question to the chain failed and is asked again'],
  'endpoint-disabled': ['error', 'the endpoint belongs to another chain and is not asked any more: mend its address'],
  'endpoint-cooling': ['info', 'the endpoint has failed and is let alone for a while; others are asked'],
  'endpoint-recovered': ['info', 'the endpoint answers again'],
  'endpoint-behind': ['warn', 'the endpoint is behind the others and is asked last'],
  'endpoint-omitted-logs': ['warn', 'the endpoint left out logs that its own receipts have; they were added'],
  'log-broken': ['warn', 'a log of the chain makes no sense and is left out; the rest of its block is not'],
  'pool-skipped': ['debug', 'a pool is left out'],
  'balances-unread': ['warn', 'balances of pools could not be read; TVL stays as it was'],
  'backfill-waiting': ['warn', 'the backfill has failed and goes on where it stopped after a wait'],
  republishing: ['warn', 'what was appended was not stored; it is appended again from the stored tip on'],
  // Aggregator
  'aggregator-started': ['info', 'this process writes the tables of the network from now on'],
  'begins-late': [
    'warn',
    'nothing is stored, and the log no longer has its first messages: blocks before this one are missing until a backfill reads them',
  ],
  flushed: ['debug', 'blocks are stored'],
  restated: ['debug', 'history that a job has read is stored'],
  audited: ['debug', 'stored blocks are as another endpoint has them'],
  'audit-found': [
    'warn',
    'stored blocks were not as the chain has them, or nobody can say; what is proven is repaired',
  ],
  rebuilt: ['info', 'candles were made anew from their ticks'],
  'rebuild-failed': ['warn', 'candles could not be made anew; the old ones stay'],
  rewound: ['warn', 'blocks are taken out of the tables, final ones too, as an operator asked for'],
  'rewind-failed': ['warn', 'blocks could not be taken back; the tables are as they were'],
  'rolled-back': ['info', 'blocks that the chain has replaced are taken out of the tables'],
  'message-rejected': [
    'error',
    "a message can't be stored and is set aside in quarantine; the listener sends its blocks again",
  ],
  stalled: ['error', 'the log does not go on from the stored tip; waiting until it connects'],
  connected: ['info', 'the log goes on from the stored tip again'],
  'store-failed': ['warn', 'ClickHouse did not store this; tried again until it does'],
  // API
  'request-answered': ['debug', 'a request is answered'],
  'request-failed': ['error', 'a request failed on our side'],
  'credits-charged': ['trace', 'an answer was paid for'],
  'cache-read': ['trace', 'candles were looked for in memory'],
  'usage-stored': ['debug', 'credits and calls are stored'],
  'usage-not-stored': ['warn', 'credits and calls could not be stored; they are kept and stored later'],
  'unknown-plan': ['warn', 'a key has a plan that this version does not know; it has what the free plan has'],
  'bootstrap-key-revoked': [
    'warn',
    'BOOTSTRAP_API_KEY is a key that was revoked: it opens nothing; set another one, or none',
  ],
  'server-listening': ['info', 'the API is open'],
  'server-closed': ['info', 'the API is closed; every answer is out'],
  // The log between ingest and aggregator
  'log-topic-made': ['info', 'a topic is made in Kafka'],
  'log-retried': ['warn', 'Kafka did not do this; tried again until it does'],
  'log-reading': ['info', 'this process reads the topic from now on'],
  'log-standing-by': ['info', 'another process reads the topic; this one takes over when that ends'],
  'log-begins-later': ['warn', 'Kafka has deleted messages that were not read; the listener sends them again'],
  'log-parts-dropped': ['warn', 'a message is incomplete in the log; whoever wrote it sends it again'],
  'rejected-not-copied': [
    'error',
    'a rejected message could not be copied into quarantine; only its own topic still has it',
  ],
  'kafka-client': ['debug', 'the Kafka client says'],
  // Tables
  'engine-started': ['info', 'the embedded ClickHouse answers'],
  'engine-said': ['info', 'the embedded ClickHouse says'],
  'engine-ended': ['info', 'the embedded ClickHouse has ended'],
  'store-waiting': ['warn', 'ClickHouse does not answer yet; waiting for it'],
  // Devnet
  'devnet-history': ['debug', "the devnet's history is made"],
  'devnet-started': ['info', 'the devnet runs'],
  'devnet-state-unusable': ['warn', "the devnet of the last run can't be continued; a new chain is begun"],
  'devnet-block-failed': ['warn', 'the devnet could not make a block; it tries again'],
  // The process
  'public-endpoint': ['warn', 'no endpoint is configured; a public one is used'],
  'earlier-start': ['warn', 'the configured start lies before what is stored; a backfill reads what is missing'],
  'another-devnet': ['warn', 'this is another chain than the stored one; a new store is begun beside it'],
  'stage-started': ['debug', 'a stage begins'],
  'stage-restarted': ['warn', 'a stage begins again from what is stored'],
  'stage-halted': [
    'error',
    "a stage of one network can't go on and no retry mends it; it looks again once a minute, and all others work",
  ],
  'stage-resumed': ['info', 'a stage that had halted works again'],
  'job-started': ['info', 'a job begins'],
  'job-done': ['info', 'a job is done'],
  'job-failed': ['warn', 'a job has failed; the command that asked for it says why'],
  'audit-waiting': ['warn', 'the audit has failed and is tried again after a wait'],
  'admin-listening': ['info', 'metrics and health are served'],
  'sql-listening': ['info', 'analysts may ask the tables'],
  stopping: ['info', 'stopping in order'],
} as const satisfies Readonly<Record<Fact['kind'], readonly [Level, string]>>
