/** The networks that the environment configures. */
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Config, NetworkConfig } from './config.ts'

/** Empty for a devnet, whose endpoint exists only while `npm start` runs. */
export function configuredNetworks({ chain }: Pick<Config, 'chain'>): readonly NetworkConfig[] {
  return chain.kind === 'networks' ? chain.networks : []
}

export function configuredNetwork(config: Pick<Config, 'chain'>, name: NetworkName): NetworkConfig | undefined {
  return configuredNetworks(config).find(({ network }) => network.name === name)
}
