// What the service sends of markets and their topics.
import { z } from 'zod';
import * as parse from '../../data/parsing.js';

const text = z.string();

const reviewStatuses = { published: 'PUBLISHED', draft: 'DRAFT', reviewing: 'REVIEWING' } as const;

const documented = z.object({
  name: parse.tolerant('Market.name', text),
  subtitle: parse.tolerant('Market.subtitle', text),
  description: parse.tolerant('Market.description', text),
  date_created: parse.readable('Market.date_created', parse.utcTime),
  company_count: parse.readable('Market.company_count', z.int32().min(0)),
  header_image_url: parse.tolerant('Market.header_image_url', parse.webUrl),
  review_status: parse.tolerant('Market.review_status', parse.closedSet(reviewStatuses)),
});

/** The market record (docs/upstream-api.md: Market record), bare or under `data`. Its identifier is known from the request. */
export const marketRecord = z
  .preprocess(parse.unwrapped, parse.withSomeOf(['id', ...Object.keys(documented.shape)], documented))
  .transform(({ date_created, company_count, header_image_url, review_status, ...rest }) => ({
    ...rest,
    dateCreated: date_created,
    companyCount: company_count,
    headerImageUrl: header_image_url,
    reviewStatus: review_status,
  }));

const topicGroup = z
  .object({ topicId: parse.identifier, label: text })
  .transform(({ topicId, label }) => ({ id: topicId, label }));

const topic = z
  .object({ topicId: parse.identifier, label: text, groups: parse.records('Topic.groups', topicGroup) })
  .transform(({ topicId, ...rest }) => ({ id: topicId, ...rest }));

/** The topics of a market (docs/upstream-api.md: Markets interface). */
export const topics = z.preprocess(body => parse.whole(body, Object(body).data), parse.requiredRecords('Topic', topic));

export type MarketTopicGroup = z.output<typeof topicGroup> & { readonly marketId: string };

/** A topic of a market. Other markets may have topics with the same identifier. */
export type MarketTopic = Omit<z.output<typeof topic>, 'groups'> & {
  readonly marketId: string;
  readonly groups: readonly (MarketTopicGroup | parse.LeftOut)[];
};

/** Names of markets that match a keyword (docs/upstream-api.md: Markets interface). */
export const suggestions = z
  .object({ suggested: parse.requiredRecords('suggested', text) })
  .transform(({ suggested }) => suggested);

/** The source object of the `Market` resolvers: only the identifier. Each field reads what it needs. */
export interface Market {
  readonly id: string;
  /** Of the query that returns it: in which the client has named it. */
  readonly argument?: string;
}
