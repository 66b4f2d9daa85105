/** Assigns all partitions to one member of the group for as long as it is a member. The others stand by. */
import type { GroupMember, PartitionAssigner } from 'kafkajs'
import { kafkajs } from '../wire/kafkajs.ts'

const { AssignerProtocol } = kafkajs

/** When this member was given the partitions, in milliseconds since 1970; 0 where it never was. */
export type OwnershipClaim = { since: number }

/** Each member says with its join since when it has held the partitions; the leader of the group leaves them with the last holder. */
export function singleOwnerAssignor(claim: OwnershipClaim): PartitionAssigner {
  return ({ cluster }) => ({
    name: 'candlepool-sole-member',
    version: 1,
    protocol({ topics }) {
      const userData = Buffer.from(JSON.stringify(claim))
      return {
        name: this.name,
        metadata: AssignerProtocol.MemberMetadata.encode({ version: this.version, topics, userData }),
      }
    },
    async assign({ members, topics }) {
      const chosen = ownerAmong(members)
      const partitions = topics.map((topic) => [
        topic,
        cluster.findTopicPartitionMetadata(topic).map((p) => p.partitionId),
      ])
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: this.version,
          assignment: memberId === chosen ? Object.fromEntries(partitions) : {},
          userData: Buffer.alloc(0),
        }),
      }))
    },
  })
}

/** The member with the latest claim: older ones belong to members that were cut off. Without claims, the first by name. */
function ownerAmong(members: readonly GroupMember[]): string | undefined {
  const claims = members.map(({ memberId, memberMetadata }) => ({ memberId, since: sinceOf(memberMetadata) }))
  claims.sort((a, b) => b.since - a.since || (a.memberId < b.memberId ? -1 : 1))
  return claims[0]?.memberId
}

function sinceOf(memberMetadata: Buffer): number {
  const userData = AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData
  if (!userData || userData.length === 0) return 0
  const { since }: OwnershipClaim = JSON.parse(userData.toString())
  return since
}
