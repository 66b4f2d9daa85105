/** Which endpoint is asked, what it may answer, and who is believed. */
import { faultsIn } from '../plant.ts'

const ENDPOINTS = ['test/ingest/rpc/endpoints/endpoints.test.ts', 'test/ingest/rpc/endpoints/endpoint-changes.test.ts']
const CHOICE = ['test/ingest/rpc/endpoints/endpoint-choice.test.ts']
const HEALTH = [
  'test/ingest/rpc/endpoints/endpoint-health.test.ts',
  'test/ingest/rpc/endpoints/endpoint-faults.test.ts',
  ...ENDPOINTS,
]

export const ENDPOINT_FAULTS = [
  ...faultsIn(
    'ingest/pools/initialize-search.ts',
    ['test/ingest/pools/initialize-search.test.ts'],
    [
      ['a pool is unknown while an endpoint is behind', 'PATIENCE_MS) throw refusal', '0) throw refusal'],
      [
        'an endpoint that is behind is waited for without end',
        'this.#doubtedSinceMs < PATIENCE_MS',
        'this.#doubtedSinceMs < Number.POSITIVE_INFINITY',
      ],
    ],
  ),
  ...faultsIn(
    'ingest/rpc/endpoints/endpoints.ts',
    ['test/ingest/rpc/endpoints/pruned-history.test.ts'],
    [
      [
        'an endpoint that rests may have what it lacked before',
        'own === undefined && oldest !== undefined && it.limits.lacks(oldest)',
        'false',
      ],
      ['an endpoint that rests has no history', '&& it.limits.lacks(oldest)', ''],
      [
        'an endpoint on another branch may have the history',
        "own === 'pruned' || own === 'behind' ||",
        "own === 'pruned' ||",
      ],
      [
        'a pool is unknown while an endpoint rests',
        "isUnsound(it) || (!it.disabled && !isDown(it) && failures.get(it)?.problem.kind !== 'pruned')",
        'isUnsound(it)',
      ],
    ],
  ),
  ...faultsIn(
    'ingest/rpc/logs/log-range.ts',
    ['test/ingest/rpc/endpoints/pruned-history.test.ts'],
    [
      [
        'history that one endpoint lacks is read in pieces',
        '!error.isEverywhere && error.isWidthRefused',
        '!error.isEverywhere',
      ],
    ],
  ),
  ...faultsIn('ingest/rpc/endpoints/chain-check.ts', ENDPOINTS, [
    ['an endpoint of another network is read', 'if (chainId === network.chainId) {', 'if (chainId > 0) {'],
    [
      'an endpoint is of its network for ever',
      'performance.now() - endpoint.verifiedMs < everyMs',
      'endpoint.verifiedMs > 0',
    ],
  ]),
  ...faultsIn('ingest/rpc/endpoints/circuit-breaker.ts', HEALTH, [
    ['each failure of a burst counts', 'if (epoch !== this.#epoch) return undefined', ''],
    ['an endpoint rests as long after each failure', 'coolDownMs * 2 ** inRow', 'coolDownMs'],
    [
      'a success does not end a rest',
      'this.#failures = 0\n    this.#probing = false\n    return failures',
      'this.#probing = false\n    return failures',
    ],
    [
      'faults are forgotten with the next answer',
      'const inRow = isFault ? Math.max(this.#failures, this.#faultsBefore(capMs)) : this.#failures',
      'const inRow = this.#failures',
    ],
    ['all requests probe an endpoint that rests', 'return this.#probing ? PROBE_LOOK_MS : 0', 'return 0'],
  ]),
  ...faultsIn(
    'ingest/rpc/endpoints/endpoint-choice.ts',
    [...CHOICE, ...HEALTH],
    [
      [
        'an endpoint that is below the block is asked first',
        'Number(atLeast !== undefined && endpoint.isBelow(atLeast))',
        '0',
      ],
      ['an endpoint that rests is asked first', 'Number(endpoint.waitMs() > 0),', '0,'],
      ['the same voice confirms itself', 'Number(endpoint.voice === voiceOf(notFirst)),', '0,'],
    ],
  ),
  ...faultsIn(
    'ingest/rpc/endpoints/endpoint.ts',
    ['test/ingest/rpc/endpoints/header-proof.test.ts', 'test/ingest/rpc/hostile-answers.test.ts', ...CHOICE, ...HEALTH],
    [
      [
        'headers are used without proof',
        'if (problem !== undefined) throw new BadAnswer',
        'if (problem === null) throw new BadAnswer',
      ],
      ['answers are not checked', 'checkAnswer(args.method, answer)', 'void checkAnswer'],
      [
        'the head of an endpoint never falls',
        'if (isLatest || number > (this.#head?.number ?? -1))',
        'if (number > (this.#head?.number ?? -1))',
      ],
    ],
  ),
  ...faultsIn(
    'ingest/rpc/endpoints/agreement.ts',
    ['test/ingest/rpc/endpoints/agreement.test.ts'],
    [
      ['half of the voices are most of them', '.length > half', '.length >= half'],
      [
        'voices that are silent agree',
        'if (expected().some((voice) => !heard.has(voice))) return undefined',
        'void [expected, heard]',
      ],
    ],
  ),
]
