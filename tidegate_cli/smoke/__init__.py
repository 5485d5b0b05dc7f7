"""``tidegate smoke``: a throwaway installation is deployed, used, upgraded and destroyed, with a report at the end."""
