/** Who reads: all partitions go to one member of the group, and stay with it while it lives. The others stand by. */
import kafkajs, { type GroupMember, type PartitionAssigner } from 'kafkajs'

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

/** The latest claim, for an older one is of a member that was cut off; among those without, the first by name, whoever leads. */
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
