/** Whether endpoints are of their network's chain: asked before the first use of each, and now and then afterwards. */
import { getChainId } from 'viem/actions'
import { WrongChain } from '../../model/errors.ts'
import type { Network } from '../../model/network.ts'
import { BadAnswer } from '../rpc-error.ts'
import type { Endpoint } from './endpoint.ts'
import type { ReportEndpoint } from './endpoint-outcome.ts'

export type ChainCheck = {
  /**
   * An endpoint of another network from its first answer on is disabled; throws `WrongChain` where none is left. Throws `BadAnswer` where it has
   * changed: then it rests, and is asked again before its next use.
   */
  verify(endpoint: Endpoint): Promise<void>
  throwIfWrongChain(): void
}

export function chainCheckOf(
  endpoints: readonly Endpoint[],
  network: Network | undefined,
  report: ReportEndpoint,
  everyMs: number,
): ChainCheck {
  let wrongChain: WrongChain | undefined
  function throwIfWrongChain(): void {
    if (wrongChain) throw wrongChain
  }
  async function verify(endpoint: Endpoint): Promise<void> {
    if (!network || performance.now() - endpoint.verifiedMs < everyMs) return
    const chainId = await getChainId(endpoint.client)
    if (chainId === network.chainId) {
      endpoint.verifiedMs = performance.now()
      return
    }
    if (endpoint.verifiedMs > Number.NEGATIVE_INFINITY) throw otherChain(network, chainId)
    if (endpoint.disabled) return
    endpoint.disabled = true
    report({ kind: 'endpoint-disabled', endpoint: endpoint.name, chainId, expected: network.chainId })
    if (endpoints.every((it) => it.disabled)) wrongChain = new WrongChain(network, chainId)
    throwIfWrongChain()
  }
  return { verify, throwIfWrongChain }
}

function otherChain({ name, chainId }: Network, answered: number): BadAnswer {
  const text = `The node answers as chain ${answered} now, and ${name} is chain ${chainId}.`
  return new BadAnswer('contradictory', text, { isFault: true })
}
