#!/bin/sh
# A bare node still, but one that tests of installations need not wait for: what the packages of RDMA depend on and every server
# has (perl with its thousand files above all) is installed, and the packages that the tests install most are in apt's own cache.
# apt takes a file from there when it is the one that the package lists name, and downloads it otherwise.
set -eu
export DEBIAN_FRONTEND=noninteractive

apt-get install --yes --no-install-recommends perl sudo pci.ids libpci3 libnl-3-200 libnl-route-3-200
apt-get clean
apt-get install --yes --no-install-recommends --download-only \
    rdma-core ibverbs-providers ibverbs-utils infiniband-diags perftest rdmacm-utils opensm mstflint pciutils ibacm srptools
# The lists of Debian 11 name files that its mirrors have no more.
apt-get install --yes --no-install-recommends --download-only slurmctld slurmd slurm-client munge dracut-core dracut-network ||
    echo "some of them are not to be had: tests that need them download them"
