import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { companySearch } from '../market/search';
import { Monitor } from '../monitor/Monitor';
import { eventSearch } from '../monitor/search';
import { loadPart, number, reader, text } from '../ui';
import { Failure, NotFound, Pending } from './Failure';
import { Shell } from './Shell';

const Discover = lazyRouteComponent(() => loadPart(() => import('../discover/Discover')), 'Discover');
const Markets = lazyRouteComponent(() => loadPart(() => import('../market/Markets')), 'Markets');
const MarketPage = lazyRouteComponent(() => loadPart(() => import('../market/MarketPage')), 'MarketPage');
const Exports = lazyRouteComponent(() => loadPart(() => import('../exports/Exports')), 'Exports');

const root = createRootRoute({ component: Shell });
const parent = { getParentRoute: () => root };

/** The filters of a screen are in its address, so each view can be shared and the back button works. */
const routes = [
  createRoute({ ...parent, path: '/', validateSearch: eventSearch, component: Monitor }),
  createRoute({
    ...parent,
    path: '/discover',
    validateSearch: reader({ market: number, question: text }),
    component: Discover,
  }),
  createRoute({ ...parent, path: '/markets', component: Markets }),
  createRoute({ ...parent, path: '/markets/$id', validateSearch: companySearch, component: MarketPage }),
  createRoute({ ...parent, path: '/exports', validateSearch: reader({ endpoint: text }), component: Exports }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  // Otherwise a screen also gets what its `validateSearch` leaves out.
  search: { strict: true },
  defaultErrorComponent: Failure,
  defaultNotFoundComponent: NotFound,
  defaultPendingComponent: Pending,
  defaultPendingMs: 200,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
