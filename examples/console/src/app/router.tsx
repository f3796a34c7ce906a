import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { discoverSearch } from '../discover/search';
import { exportSearch } from '../exports/search';
import { companySearch } from '../market/search';
import { Monitor } from '../monitor/Monitor';
import { eventSearch } from '../monitor/search';
import { Failure, NotFound } from './Failure';
import { Shell } from './Shell';

const root = createRootRoute({ component: Shell });

/** The filters of a screen are in its address, so each view can be shared and the back button works. */
const routes = [
  createRoute({ getParentRoute: () => root, path: '/', validateSearch: eventSearch, component: Monitor }),
  createRoute({
    getParentRoute: () => root,
    path: '/discover',
    validateSearch: discoverSearch,
    component: lazyRouteComponent(() => import('../discover/Discover'), 'Discover'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/markets',
    component: lazyRouteComponent(() => import('../market/Markets'), 'Markets'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/markets/$id',
    validateSearch: companySearch,
    component: lazyRouteComponent(() => import('../market/MarketPage'), 'MarketPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/exports',
    validateSearch: exportSearch,
    component: lazyRouteComponent(() => import('../exports/Exports'), 'Exports'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  // Otherwise a screen also gets what its `validateSearch` leaves out.
  search: { strict: true },
  defaultErrorComponent: Failure,
  defaultNotFoundComponent: NotFound,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
