# NetworkManager with its reader of ifcfg files, which Debian leaves out, built from Debian's own source. The result has it below /srv.

ARG BASE=rdmalab/base
FROM ${BASE} AS built
COPY vm/ifcfg-reader.sh /tmp/
RUN : the sources of NetworkManager and its reader of ifcfg files; sh /tmp/ifcfg-reader.sh /out

FROM ${BASE}
COPY --from=built /out /srv
