#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether the server of this container serves: alone, or in a quorum.
exec 3<>/dev/tcp/127.0.0.1/2181 || exit 1
printf srvr >&3
grep -q '^Mode: ' <&3
